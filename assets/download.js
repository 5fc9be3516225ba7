// A link that saves a file. Its address stays the same however often the page is drawn, so that a
// click is never for a file that has just been replaced.

const ARROW = "M12 16 7 11l1.4-1.45 2.6 2.6V4h2v8.15l2.6-2.6L17 11zM6 20a2 2 0 0 1-2-2v-3h2v3h12v-3h2v3a2 2 0 0 1-2 2z";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".download");
  const link = (root.link ??= made(root));
  link.words.textContent = data.label;
  link.classList.toggle("primary", data.primary);
  if (data.address) {
    link.href = data.address;
    link.removeAttribute("aria-disabled");
  } else {
    link.removeAttribute("href");
    link.setAttribute("aria-disabled", "true");
  }
}

function made(root) {
  const link = document.createElement("a");
  link.setAttribute("role", "link"); // also without an address
  link.download = ""; // the server says how the file is called
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ARROW);
  picture.append(path);
  link.words = document.createElement("span");
  link.append(picture, link.words);
  root.replaceChildren(link);
  return link;
}
