// The gallery: one list of cards. It keeps what is picked and what is not saved yet; Python sends the
// cards and is told of picks and decisions. Names are data: they reach the page through textContent
// and attributes alone.

const PICKED_MS = 150; // picks that follow each other are sent as one
const RETRY_MS = 4000;
// By project, decisions of which Python has not said that they are saved. Here and not in a gallery,
// which Streamlit may take away and put back at any time; on the shelf too, for the next visit.
const unsaved = new Map();
const WORDS = { accept: "accepted", reject: "rejected" };
const ICONS = {
  undecided: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zm0 2a6 6 0 1 1 0 12 6 6 0 0 1 0-12z",
  accepted: "M9.5 16.6 4.9 12l-1.4 1.4 6 6L21 7.9l-1.4-1.4z",
  rejected: "M18.4 4.2 12 10.6 5.6 4.2 4.2 5.6 10.6 12l-6.4 6.4 1.4 1.4 6.4-6.4 6.4 6.4 1.4-1.4-6.4-6.4 6.4-6.4z",
  skipped: "M5 5v14l10-7zM16 5h3v14h-3z",
  saving: "M12 4V1L8 5l4 4V6a6 6 0 1 1-6 6H4a8 8 0 1 0 8-8z",
  flagged: "M6 3v18h2v-7h10l-3-4 3-4H8V3z",
  conflict: "M12 3 1 21h22zm-1 6h2v6h-2zm0 7.5h2v2h-2z",
  twin: "M8 3h11a2 2 0 0 1 2 2v11h-2V5H8zM5 7h9a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V9a2 2 0 0 1 2-2z",
  pick: "M9.5 16.6 4.9 12l-1.4 1.4 6 6L21 7.9l-1.4-1.4z",
};

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".gallery");
  const gallery = (root.gallery ??= new Gallery(root));
  gallery.tell = setStateValue;
  gallery.ask = setTriggerValue;
  gallery.receive(data);
}

class Gallery {
  constructor(root) {
    this.root = root;
    this.nodes = new Map(); // item → its card
    this.cards = [];
    this.picked = new Set(); // on this page
    this.number = Date.now(); // of the last message: one sent again must differ to be heard
    this.at = 0;
    this.anchor = 0;
    this.list = element("div", "cards");
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-multiselectable", "true");
    this.list.setAttribute("aria-label", "Candidates");
    this.voice = element("p", "voice");
    this.voice.setAttribute("role", "status");
    const help = element(
      "p",
      "help",
      "Keys in the gallery: arrows move, Space picks, Shift extends, A accepts, X rejects, Enter opens.",
    );
    help.id = "help";
    this.list.setAttribute("aria-describedby", "help");
    root.append(this.list, help, this.voice);
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => this.click(event));
    this.list.addEventListener("dblclick", (event) => this.open(this.place(event)));
    this.list.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault());
  }

  get pending() {
    return unsaved.get(this.data.project) ?? [];
  }

  set pending(entries) {
    const before = this.pending;
    for (const entry of before) if (!entries.includes(entry)) this.unshelve(entry);
    for (const entry of entries) if (!before.includes(entry)) this.shelve(entry);
    unsaved.set(this.data.project, entries);
  }

  // ---- the shelf: what was not saved when the page closed is sent again when it opens ----------

  // One place for each entry, so that two tabs do not take each other's away.
  slot({ reviewer, uuid }) {
    return `eap.gallery.${this.data.project}.${reviewer}.${uuid}`;
  }

  shelve(entry) {
    try {
      localStorage.setItem(this.slot(entry), JSON.stringify(entry));
    } catch {
      // no room or no permission: it is still in memory, and on its way
    }
  }

  unshelve(entry) {
    try {
      localStorage.removeItem(this.slot(entry));
    } catch {
      // it was never there
    }
  }

  // Of this reviewer alone: what others left on this machine waits until they are back.
  shelved() {
    const { project, reviewer } = this.data;
    const found = [];
    try {
      for (const key of Object.keys(localStorage)) {
        if (!key.startsWith(`eap.gallery.${project}.${reviewer}.`)) continue;
        const entry = JSON.parse(localStorage.getItem(key));
        const whole = Array.isArray(entry?.items) && entry.reviewer === reviewer;
        if (whole && key === this.slot(entry)) found.push(entry);
      }
    } catch {
      // no permission, or not ours
    }
    return found.sort((one, other) => one.at - other.at);
  }

  fetch() {
    const whose = `${this.data.project} ${this.data.reviewer}`;
    if (whose === this.whose) return;
    this.whose = whose;
    const known = new Set(this.pending.map((entry) => entry.uuid));
    this.pending = [...this.shelved().filter((entry) => !known.has(entry.uuid)), ...this.pending];
  }

  // ---- what the server says -------------------------------------------------------------------

  receive(data) {
    const before = this.cards.map((card) => card.id).join();
    const same = before === data.cards.map((card) => card.id).join();
    const focused = this.root.getRootNode().activeElement;
    const inside = focused !== null && this.list.contains(focused);
    if (!same || data.turn !== this.turn) this.picked = new Set(data.picked);
    this.data = data;
    this.turn = data.turn;
    this.fetch();
    this.pending = this.pending.filter((entry) => !data.done.includes(entry.uuid));
    this.cards = data.cards;
    this.list.dataset.kind = data.kind;
    if (!same) this.lay();
    this.at = Math.max(0, Math.min(this.at, this.cards.length - 1));
    this.anchor = Math.min(this.anchor, this.at);
    this.draw();
    if (this.pending.length && !this.retry) this.send(); // another gallery had them
    if (inside && !same) this.node(this.at)?.focus({ preventScroll: true });
  }

  // Cards that stay keep their node, so that their pictures do not flicker.
  lay() {
    const kept = new Map();
    for (const card of this.cards) kept.set(card.id, this.nodes.get(card.id) ?? this.make(card));
    this.nodes = kept;
    this.list.replaceChildren(...kept.values());
    this.list.scrollTop = 0;
  }

  make(card) {
    const node = element("div", "card");
    node.setAttribute("role", "option");
    node.dataset.id = card.id;
    if (card.picture) {
      const picture = document.createElement("img");
      picture.loading = "lazy";
      picture.decoding = "async";
      picture.alt = card.name;
      picture.src = card.picture;
      picture.draggable = false;
      picture.addEventListener("error", () => node.classList.add("lost"), { once: true });
      node.append(picture);
    }
    node.append(...["features", "badges", "name", "quality", "tick"].map((name) => element("div", name)));
    node.querySelector(".tick").append(icon("pick"));
    return node;
  }

  draw() {
    const saving = new Set(this.pending.flatMap((entry) => entry.items));
    this.cards.forEach((card, i) => this.dress(card, i, saving.has(card.id)));
  }

  dress(card, i, saving) {
    const node = this.nodes.get(card.id);
    const state = saving ? "saving" : card.state;
    const reason = card.reason && card.state === "rejected" ? `: ${card.reason}` : "";
    const said = [[state, state + (saving ? "" : reason)]];
    if (card.flagged) said.push(["flagged", "flagged"]);
    if (card.conflict) said.push(["conflict", "conflicting"]);
    if (card.twin) said.push(["twin", "near-duplicate"]);
    node.tabIndex = i === this.at ? 0 : -1;
    node.setAttribute("aria-selected", String(this.picked.has(card.id)));
    node.setAttribute(
      "aria-label",
      [card.name, `percentile ${card.percentile}`, card.category, ...said.map((each) => each[1])].join(", "),
    );
    node.dataset.state = state;
    const mark = JSON.stringify([said, card.percentile, card.short]);
    if (node.mark === mark) return;
    node.mark = mark;
    node.querySelector(".badges").replaceChildren(...said.map(([kind, text]) => badge(kind, text)));
    const name = node.querySelector(".name");
    name.textContent = card.short || card.name;
    name.title = card.name;
    const track = element("span", "track");
    const bar = element("span", "bar");
    bar.style.width = `${card.percentile}%`;
    track.append(bar);
    node.querySelector(".quality").replaceChildren(track, element("span", "figure", `P${card.percentile}`));
    node.querySelector(".features").replaceChildren(...card.features.map(feature));
  }

  // ---- moving and picking ---------------------------------------------------------------------

  key(event) {
    const wide = this.columns();
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide };
    const last = this.cards.length - 1;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const letter = event.key.toLowerCase();
    if (event.key in steps && plain) this.go(this.at + steps[event.key], event.shiftKey);
    else if (event.key === "Home" && plain) this.go(0, event.shiftKey);
    else if (event.key === "End" && plain) this.go(last, event.shiftKey);
    else if (event.key === " " && plain) event.shiftKey ? this.extend() : this.toggle(this.at);
    else if (event.key === "Enter" && plain) this.open(this.at);
    else if (event.key === "Escape" && this.picked.size) this.pick(new Set());
    else if (letter === "a" && (event.ctrlKey || event.metaKey)) this.pick(new Set(this.nodes.keys()));
    else if ((letter === "a" || letter === "x") && plain && !event.shiftKey) {
      if (!event.repeat) this.decide(letter === "a" ? "accept" : "reject");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  go(to, extending) {
    if (to < 0 || to >= this.cards.length) return;
    this.at = to;
    this.draw();
    const node = this.node(to);
    node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "nearest" });
    if (extending) this.extend();
    else this.anchor = to;
  }

  extend() {
    const [from, to] = [Math.min(this.anchor, this.at), Math.max(this.anchor, this.at)];
    this.pick(new Set([...this.picked, ...this.cards.slice(from, to + 1).map((card) => card.id)]));
  }

  toggle(place) {
    this.anchor = place;
    const picked = new Set(this.picked);
    const { id } = this.cards[place];
    if (!picked.delete(id)) picked.add(id);
    this.pick(picked);
  }

  pick(picked) {
    this.picked = picked;
    this.draw();
    this.voice.textContent = `${picked.size + this.data.elsewhere.length} picked`;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.number += 1;
      const [shown, chosen] = [[...this.nodes.keys()], [...this.picked]];
      this.tell("picked", { number: this.number, turn: this.turn, shown, picked: chosen });
    }, PICKED_MS);
  }

  click(event) {
    const place = this.place(event);
    if (place < 0) return;
    this.at = place;
    this.node(place).focus({ preventScroll: true });
    if (event.shiftKey) this.extend();
    else if (event.detail < 2) this.toggle(place);
    else this.draw(); // the second click of a double click opens
  }

  // ---- deciding and opening -------------------------------------------------------------------

  decide(verdict) {
    const focused = this.cards[this.at];
    if (!focused) return;
    const picked = this.picked.size > 0;
    if (!picked && this.onItsWay(focused.id, verdict)) return; // a key pressed twice
    // Now, with those picked on other pages: what is picked later is not meant.
    const items = picked ? [...this.picked, ...this.data.elsewhere] : [focused.id];
    clearTimeout(this.timer);
    const { reviewer, seen } = this.data;
    const entry = { uuid: uuid(), at: Date.now(), verdict, items, picked, reviewer, seen };
    this.pending = [...this.pending, entry];
    if (picked) {
      this.picked = new Set(); // the same key again is about the focused card
      this.data = { ...this.data, elsewhere: [] };
    }
    this.voice.textContent = `${items.length === 1 ? this.nodes.get(items[0]).querySelector(".name").textContent : items.length} ${WORDS[verdict]}`;
    this.draw();
    this.send();
    if (!picked) this.go(this.at + 1, false);
  }

  onItsWay(item, verdict) {
    return this.pending.some((entry) => entry.verdict === verdict && entry.items.includes(item));
  }

  // Until the server says that all is saved, also when it failed or was away.
  send() {
    clearTimeout(this.retry);
    this.retry = null;
    if (!this.pending.length || !this.root.isConnected) return;
    this.number += 1;
    this.tell("decided", { number: this.number, entries: this.pending });
    this.retry = setTimeout(() => this.send(), RETRY_MS);
  }

  open(place) {
    if (place < 0 || place >= this.cards.length) return;
    clearTimeout(this.timer); // the first click of a double click picked; the page is about to go
    this.ask("open", this.cards[place].id);
  }

  // ---- where things are -----------------------------------------------------------------------

  place(event) {
    const node = event.target.closest(".card");
    return node ? this.cards.findIndex((card) => card.id === node.dataset.id) : -1;
  }

  node(place) {
    return this.nodes.get(this.cards[place]?.id);
  }

  columns() {
    const nodes = [...this.nodes.values()];
    const below = nodes.findIndex((node) => node.offsetTop > nodes[0].offsetTop);
    return below < 0 ? nodes.length : below;
  }
}

function element(tag, name, text) {
  const made = document.createElement(tag);
  made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}

function icon(kind) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("viewBox", "0 0 24 24");
  made.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[kind]);
  made.append(path);
  return made;
}

function badge(kind, text) {
  const made = element("span", `badge ${kind}`);
  made.append(icon(kind), element("span", "word", text));
  return made;
}

function feature({ name, value, sign }) {
  const made = element("div", "feature");
  made.append(element("span", "what", name), element("span", "value", `${value} (${sign})`));
  return made;
}

// randomUUID is there only over HTTPS and on this machine
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}
