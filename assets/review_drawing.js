// How the review stage looks: built once, then brought up to date by draw(stage).
// Names and notes are data: they reach the page through textContent alone.

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

const icon = (name) => h("span", { class: "icon", "aria-hidden": "true", text: name });

function button(words, key, symbol, act, kind = "") {
  return h(
    "button",
    { type: "button", class: kind, onclick: act, "aria-label": words, "aria-keyshortcuts": key },
    icon(symbol), h("span", { text: words }), h("kbd", { text: key }),
  );
}

function build(stage) {
  const parts = {};
  const put = (name, element) => (parts[name] = element);
  const act = (how) => () => how();
  const frame = (label) => {
    const view = h("div", { class: "view" }, h("img", { alt: "", draggable: "false" }));
    watch(view, stage);
    return h("figure", { "aria-label": label }, view, h("figcaption"));
  };
  put("strip", h("canvas", { class: "strip", role: "img", height: "10" }));
  put("place", h("span", { class: "place" }));
  put("saved", h("span", { class: "saved", role: "status", "aria-live": "polite" }));
  put("notices", h("div", { class: "notices", role: "alert" }));
  put("candidate", frame("Candidate"));
  parts.candidate.classList.add("candidate");
  parts.candidate.querySelector(".view").append(h("img", { class: "reference", alt: "" }));
  put("features", h("div", { class: "features" }));
  put("near", h("div", { class: "near" }));
  put("name", h("h3"));
  put("about", h("dl", { class: "about" }));
  put("stands", h("p", { class: "stands" }));
  put("why", h("section", { class: "why", "aria-label": "Why this score" }));
  put("note", h("textarea", {
    rows: "1", maxlength: "2000", placeholder: "Note (N), saved with your decision", "aria-label": "Note",
    oninput: (event) => (stage.draft = event.target.value),
    onchange: (event) => stage.remark(event.target.value),
  }));
  put("reasons", h("div", { class: "reasons", role: "group", "aria-label": "Reason" }));
  put("looks", h("div", { class: "looks", role: "group", "aria-label": "Looking" },
    button("Difference", "D", "difference", act(() => stage.toggle("difference"))),
    button("Blink", "B", "flip", act(() => stage.toggle("blink"))),
    button("Closer", "+", "zoom_in", act(() => stage.zoom(1.5))),
    button("Farther", "-", "zoom_out", act(() => stage.zoom(1 / 1.5))),
  ));
  put("flag", button("Flag", "F", "flag", act(() => stage.flag())));
  put("keys", h("button", {
    type: "button", class: "plain keys", "aria-pressed": "true",
    onclick: () => { stage.quiet = stage.keysOn; stage.show(); },
  }, icon("keyboard"), h("span", { text: "Keys" })));
  put("end", h("div", { class: "end" }));
  put("help", helpOf(stage));
  const decide = h("div", { class: "decide", role: "group", "aria-label": "Decision" },
    button("Accept", "A", "check", act(() => stage.decide("accept")), "accept"),
    button("Reject", "X", "close", act(() => stage.decide("reject")), "reject"),
    button("Skip", "Space", "skip_next", act(() => stage.decide("skip"))),
    button("Undo", "Z", "undo", act(() => stage.undo())),
  );
  const browse = h("div", { class: "browse" },
    h("button", { type: "button", class: "plain", "aria-label": "Previous candidate",
      onclick: () => stage.go(stage.at - 1) }, icon("arrow_back")),
    parts.place,
    h("button", { type: "button", class: "plain", "aria-label": "Next candidate",
      onclick: () => stage.go(stage.at + 1) }, icon("arrow_forward")),
  );
  const help = h("button", { type: "button", class: "plain", "aria-label": "Help", onclick: () => stage.help() },
    icon("help"), h("span", { text: "Help" }));
  put("side", h("aside", {}, parts.name, parts.about, parts.stands, decide, parts.reasons,
    h("div", { class: "remark" }, parts.note, parts.flag), parts.why));
  put("loading", h("p", { class: "hint", text: "Loading …" }));
  put("panes", h("div", { class: "panes" }, parts.loading,
    h("div", { class: "pictures" }, parts.candidate, parts.features, parts.looks, parts.near),
    parts.side));
  stage.root.append(
    h("div", { class: "bar" }, browse, parts.strip, parts.saved, parts.keys, help),
    parts.notices, parts.panes, parts.end, parts.help);
  new ResizeObserver(() => stage.data && strip(stage)).observe(parts.strip);
  return parts;
}

// Wheel, drag and double click act on all pictures in step.
function watch(view, stage) {
  const spot = (event) => {
    const box = view.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && stage.view.scale === 1 && event.deltaY > 0) return; // let the page scroll
    event.preventDefault();
    stage.zoom(event.deltaY < 0 ? 1.25 : 0.8, ...spot(event));
  }, { passive: false });
  view.addEventListener("dblclick", (event) =>
    stage.zoom(stage.view.scale > 1 ? 1 / LARGEST_ZOOM : 3, ...spot(event)));
  view.addEventListener("pointermove", (event) => {
    if (!event.buttons || stage.view.scale === 1) return;
    const box = view.getBoundingClientRect();
    stage.pan(event.movementX / box.width, event.movementY / box.height);
  });
}

function helpOf(stage) {
  const rows = [
    ["A", "accept"], ["X", "reject"], ["1 – 5", "reason; then X. On a rejected one: another reason"],
    ["Space", "skip"], ["Z or Backspace", "undo"], ["F", "flag for later"], ["N", "write a note"],
    ["← →", "look at others without deciding"], ["D", "difference to the normal beside it"],
    ["B", "blink between the two"], ["+  −  0", "closer, farther, whole picture; Shift and an arrow moves it"], ["?", "this help"],
  ];
  return h("dialog", { "aria-label": "Keys" },
    h("h3", { text: "Keys" }),
    h("dl", {}, ...rows.flatMap(([key, words]) => [h("dt", { text: key }), h("dd", { text: words })])),
    h("p", { text: "A reason and a decision are two keys: 2 then X rejects as not physically possible." }),
    h("button", { type: "button", text: "Close", onclick: () => stage.help() }));
}

function draw(stage) {
  const { parts, data, item } = stage;
  const over = stage.at >= data.total;
  parts.panes.hidden = over;
  parts.end.hidden = !over;
  stage.root.dataset.kind = data.kind;
  stage.root.dataset.compare = stage.compare ?? "";
  parts.keys.setAttribute("aria-pressed", String(stage.keysOn));
  parts.keys.lastChild.textContent = stage.keysOn ? "Keys are on" : "Keys are off";
  parts.place.textContent = over ? "The end" : `${stage.at + 1} of ${data.total}`;
  strip(stage);
  saved(stage);
  notices(stage);
  blink(stage);
  stage.hold();
  if (over) return end(stage);
  parts.panes.setAttribute("aria-busy", String(!item));
  for (const part of parts.panes.children) part.hidden = !item; // nothing of the one before
  parts.loading.hidden = Boolean(item);
  if (item) candidate(stage, item);
}

function candidate(stage, item) {
  const { parts, data } = stage;
  const now = stage.standing(item);
  const hidden = data.blind && now.verdict !== "accept" && now.verdict !== "reject";
  parts.name.textContent = hidden ? "Candidate" : item.name; // a name may tell the generator
  // What was intended may be known; who made it may not.
  const told = item.about.filter(([name]) => !hidden || name === "defect_type" || name === "prompt");
  parts.about.replaceChildren(
    ...told.flatMap(([name, value]) => [h("dt", { text: name }), h("dd", { text: value })]));
  stands(stage, now);
  if (item.picture) pictures(stage, item);
  else features(parts.features, item.features);
  near(stage, item);
  reasons(stage, now);
  parts.flag.setAttribute("aria-pressed", String(Boolean(now.flagged)));
  if (parts.note.getRootNode().activeElement !== parts.note)
    parts.note.value = stage.draft || now.note || "";
  why(parts.why, item.why, hidden);
  ahead(stage);
}

function pictures(stage, item) {
  const [image, reference] = stage.parts.candidate.querySelectorAll("img");
  source(image, item.picture, `Candidate ${stage.parts.name.textContent}`);
  const beside = item.near[stage.reference];
  reference.hidden = !stage.compare || !beside;
  if (stage.compare && beside) source(reference, beside.picture, "");
  stage.parts.candidate.querySelector("figcaption").textContent = !stage.compare || !beside
    ? "Candidate"
    : stage.compare === "blink" ? `Blinking with ${beside.name}` : `Difference to ${beside.name}, brightened`;
  stage.parts.looks.children[0].setAttribute("aria-pressed", String(stage.compare === "difference"));
  stage.parts.looks.children[1].setAttribute("aria-pressed", String(stage.compare === "blink"));
}

function source(image, address, alt) {
  if (image.getAttribute("src") !== address) image.src = address;
  image.alt = alt;
}

function blink(stage) {
  clearInterval(stage.blinking);
  stage.root.classList.remove("other");
  if (stage.compare === "blink")
    stage.blinking = setInterval(() => {
      if (stage.root.isConnected) stage.root.classList.toggle("other");
      else clearInterval(stage.blinking);
    }, BLINK_MS);
}

function near(stage, item) {
  const key = `${item.id} ${stage.reference}`;
  if (stage.parts.near.dataset.of === key) return;
  stage.parts.near.dataset.of = key;
  stage.parts.near.replaceChildren(...item.near.map((one, i) => {
    const chosen = i === stage.reference;
    if (!one.picture)
      return h("p", {}, h("b", { text: one.role }), h("span", { text: ` ${one.name}` }),
        h("small", { text: ` ${one.distance} away` }));
    const view = h("div", { class: "view" }, h("img", { src: one.picture, alt: `${one.role} ${one.name}`, draggable: "false" }));
    watch(view, stage);
    return h("figure", { class: chosen ? "chosen" : "" }, view,
      h("button", { type: "button", class: "plain caption", title: one.name, "aria-pressed": String(chosen),
        "aria-label": `Compare with ${one.role.toLowerCase()} ${one.name}`, onclick: () => stage.refer(i) },
      h("b", { text: one.role }), h("small", { text: one.name })));
  }));
}

// Each feature as a bar from what is usual for its nearest normals, in robust standard deviations.
function features(place, rows) {
  const most = Math.max(4, ...rows.map(({ z }) => Math.min(Math.abs(z), 12)));
  place.replaceChildren(
    h("p", { class: "hint", text: "How far its features are from those of its nearest normals, in usual spreads" }),
    ...rows.map(({ name, value, typical, z }) => {
      const share = (50 * Math.min(Math.abs(z), most)) / most;
      const bar = h("span", { class: `bar ${Math.abs(z) >= 3 ? "far" : ""}` });
      bar.style.left = z < 0 ? `${50 - share}%` : "50%";
      bar.style.width = `${share}%`;
      return h("div", { class: "feature" },
        h("span", { class: "what", text: name, title: name }),
        h("span", { class: "track", role: "img", "aria-label": `${name}: ${z.toFixed(1)} deviations ${z < 0 ? "below" : "above"} usual` }, bar),
        h("span", { class: "value" }, h("b", { text: value }), h("small", { text: ` usual ${typical}` })),
        h("span", { class: "spread", text: `${z < 0 ? "−" : "+"}${Math.abs(z).toFixed(1)}` }));
    }));
}

function stands(stage, now) {
  const { stands: place } = stage.parts;
  place.replaceChildren();
  place.className = `stands ${now.verdict ?? ""}`;
  if (stage.told) place.append(h("span", { text: stage.told }), " ");
  if (!now.verdict) {
    if (!stage.told) place.append(h("span", { class: "hint", text: "Not decided yet" }));
  } else {
    const symbol = { accept: "check", reject: "close", skip: "skip_next" }[now.verdict];
    const who = now.by === stage.data.reviewer ? "you" : now.by;
    const reason = stage.data.reasons.find(([name]) => name === now.reason)?.[1];
    const when = now.when ? `, ${now.when}` : "";
    place.append(icon(symbol),
      h("b", { text: `${WORDS[now.verdict]}${reason ? ` (${reason})` : ""}` }),
      h("span", { text: ` by ${who}${when}` }));
  }
  if (now.conflict) place.append(h("span", { class: "conflict", text: ` ${now.conflict}` }));
}

function reasons(stage, now) {
  const { reasons: place } = stage.parts;
  if (!place.children.length)
    place.append(...stage.data.reasons.map(([name, words], i) =>
      h("button", { type: "button", onclick: () => stage.because(name), "data-reason": name },
        h("kbd", { text: String(i + 1) }), h("span", { text: words }))));
  const chosen = stage.reason ?? (now.verdict === "reject" ? now.reason : null);
  for (const one of place.children)
    one.setAttribute("aria-pressed", String(one.dataset.reason === chosen));
}

function why(place, found, hidden) {
  if (hidden || !found)
    return place.replaceChildren(h("p", { class: "hint", text: hidden
      ? "The score is hidden until you decide." : "" }));
  const bar = (words, value, text, extra = null) => {
    const fill = h("span", { class: "fill" });
    fill.style.width = `${100 * value}%`;
    const track = h("span", { class: "track" }, fill);
    if (extra !== null) {
      const rest = h("span", { class: "fill prior" });
      rest.style.width = `${100 * extra}%`;
      track.append(rest);
    }
    return h("div", { class: "part" }, h("span", { text: words }), track, h("b", { text }));
  };
  const percent = (value) => `${Math.round(100 * value)} %`;
  place.replaceChildren(
    h("h4", { text: "Why this score" }),
    h("p", { class: "headline" },
      h("span", { class: `chip ${found.category}` }, icon(found.icon), h("span", { text: found.words })),
      h("span", { text: `quality percentile ${Math.round(found.percentile)}` })),
    h("p", { text: found.sentence }),
    bar("Looks anomalous", found.p, percent(found.p)),
    bar("Weight of the evidence", found.weight, percent(found.weight)),
    bar("Score (the best fills it)", found.evidence / found.best, found.score.toFixed(3), found.belief / found.best),
    h("p", { class: "hint key" }, h("i", { class: "dot" }), h("span", { text: "from the evidence" }),
      h("i", { class: "dot prior" }), h("span", { text: "from the prior belief" })),
    h("details", {}, h("summary", { text: "In numbers" }),
      h("dl", {}, ...found.numbers.flatMap(([name, value]) =>
        [h("dt", { text: name }), h("dd", { text: value })]))));
}

function ahead(stage) {
  for (let p = stage.at + 1; p <= stage.at + PRELOADED; p++) {
    const next = stage.known.get(p);
    for (const address of next?.picture ? [next.picture, ...next.near.map((one) => one.picture)] : [])
      if (!loaded.has(address)) {
        loaded.add(address);
        new Image().src = address;
      }
  }
}
const loaded = new Set();

function saved(stage) {
  const { saved: place } = stage.parts;
  const waiting = stage.pending.length;
  place.classList.toggle("trouble", Boolean(stage.trouble));
  place.textContent = stage.trouble
    ? `${stage.trouble} (${waiting} kept here, tried again)`
    : waiting ? `Saving ${waiting} …`
    : stage.data.saved ? `Saved ${stage.data.saved}` : "";
}

function notices(stage) {
  const { notices: place } = stage.parts;
  place.replaceChildren(...stage.notices.slice(-3).map((text) =>
    h("p", {}, icon("group"), h("span", { text }),
      h("button", { type: "button", class: "plain", "aria-label": "Understood", onclick: () => {
        stage.notices = stage.notices.filter((one) => one !== text);
        stage.show();
      } }, icon("close")))));
}

function strip(stage) {
  const { strip: canvas } = stage.parts;
  const { total } = stage.data;
  const width = (canvas.width = Math.max(60, Math.round(canvas.clientWidth * devicePixelRatio)));
  const style = getComputedStyle(stage.root);
  const colours = { a: "#009E73", x: "#D55E00", s: "#8a9aa3", ".": style.getPropertyValue("--rest") };
  const pen = canvas.getContext("2d");
  const counts = { a: 0, x: 0, s: 0, ".": 0 };
  const marks = stage.marks();
  for (let p = 0; p < total; p++) {
    const mark = marks[p];
    counts[mark] += 1;
    pen.fillStyle = colours[mark];
    const from = Math.floor((p * width) / total);
    pen.fillRect(from, 2, Math.max(1, Math.floor(((p + 1) * width) / total) - from), 6);
  }
  pen.fillStyle = style.getPropertyValue("--text");
  pen.fillRect(Math.min(width - 3, Math.floor((stage.at * width) / total)), 0, 3, 10);
  canvas.setAttribute("aria-label",
    `${counts.a} accepted, ${counts.x} rejected, ${counts.s} skipped, ${counts["."]} not decided`);
}

function end(stage) {
  const left = stage.marks().filter((mark) => mark === ".").length;
  stage.parts.end.replaceChildren(
    h("h3", { text: left ? "That was the last one in this order" : "All candidates are decided on" }),
    h("p", { text: left ? `${left} are not decided yet.` : "The curated set can be exported now." }),
    h("button", { type: "button", onclick: () => stage.go(left ? stage.next() : 0) },
      icon("arrow_back"), h("span", { text: left ? "Go to the first undecided one" : "Look at the first one again" })));
}
