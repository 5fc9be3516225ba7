// The review stage. The queue and every unsaved decision live here, in the browser: a key shows the
// next candidate at once, and the decision is sent until the server says that the store has it.
// What it looks like is in review_drawing.js, which is joined to this file.

const NEAR = 40; // further away, it is no use to tell which candidates are known
const PRELOADED = 6;
const RETRY_MS = 4000;
const BLINK_MS = 600;
const LARGEST_ZOOM = 8;
const LETTERS = { accept: "a", reject: "x", skip: "s" };
const WAYS = { ArrowLeft: [0.2, 0], ArrowRight: [-0.2, 0], ArrowUp: [0, 0.2], ArrowDown: [0, -0.2] };
const WORDS = { accept: "accepted", reject: "rejected", skip: "skipped" };

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".stage");
  const stage = (root.stage ??= new Stage(root));
  stage.send = (message) => setStateValue("sent", JSON.stringify(message));
  stage.receive(data);
  // This function runs anew with all new data, but one key must be heard once.
  if (!stage.listening) {
    stage.listening = (event) => stage.key(event);
    document.addEventListener("keydown", stage.listening);
  }
  return () => {
    document.removeEventListener("keydown", stage.listening);
    stage.listening = null;
    clearTimeout(stage.retry);
  };
}

class Stage {
  constructor(root) {
    this.root = root;
    this.known = new Map(); // position → candidate, as the server last told
    this.pending = []; // decisions of which the server has not said that they are saved
    this.at = 0;
    this.number = Math.floor(Math.random() * 2 ** 40); // of the last message: no two stages alike
    this.first = this.number;
    this.reason = null;
    this.drafts = {}; // notes on candidates that are not decided on
    this.reference = 0; // which neighbour the candidate is compared with
    this.compare = null; // "difference" or "blink"
    this.view = { scale: 1, x: 0, y: 0 };
    this.notices = []; // what must be read, however fast the keys come
    this.parts = build(this);
  }

  // ---- what the server says -------------------------------------------------------------------

  receive(data) {
    const first = this.data?.key !== data.key;
    this.data = data;
    if (first) this.begin();
    for (const [position, card] of Object.entries(data.cards)) this.known.set(+position, card);
    this.states = data.states;
    this.settle(data.answer);
    this.forget();
    this.show();
    if (!this.item && this.at < data.total && this.lacked !== this.at) {
      this.lacked = this.at; // asked for once: an answer without it would not change
      this.post();
    }
  }

  begin() {
    this.known.clear();
    this.at = this.data.at;
    // What is in memory may have found no room on the shelf; a place belongs to an order.
    const unsaved = [...this.laid("unsaved", []), ...this.pending].filter(
      ({ reviewer }) => reviewer === this.data.reviewer,
    );
    const each = new Map(unsaved.map((entry) => [entry.uuid, { ...entry, position: -1 }]));
    this.pending = [...each.values()];
    this.drafts = { ...this.laid("drafts", {}) };
    remember(this.data.reviewer);
    this.leave();
    if (this.pending.length) this.post();
  }

  // What was not saved when the page closed is sent again when it opens, and drafts are there again.
  shelf(what) {
    return `eap.${what}.${this.data.project}.${this.data.reviewer}`;
  }

  laid(what, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(this.shelf(what))) ?? otherwise;
    } catch {
      return otherwise;
    }
  }

  lay(what, value) {
    try {
      if (value === null) localStorage.removeItem(this.shelf(what));
      else localStorage.setItem(this.shelf(what), JSON.stringify(value));
    } catch {
      // no room or no permission: it is still in memory, and decisions are on their way
    }
  }

  keep() {
    this.lay("unsaved", this.pending.length ? this.pending : null);
  }

  settle(answer) {
    const { saved = {}, refused = {}, trouble = null } = answer ?? {};
    const before = this.pending.length;
    this.pending = this.pending.filter(({ uuid }) => !(uuid in saved) && !(uuid in refused));
    const own = answer && answer.number > this.first && answer.number <= this.number;
    this.trouble = own ? trouble : null;
    if (own && answer.number !== this.answered) {
      this.answered = answer.number;
      const conflicts = Object.values(saved).map((one) => one.conflict).filter(Boolean);
      this.notices.push(...conflicts, ...Object.values(refused));
    }
    if (before !== this.pending.length) this.keep();
    clearTimeout(this.retry);
    if (this.pending.length) this.retry = setTimeout(() => this.post(), RETRY_MS);
  }

  // Candidates far from the present one are asked for again when they are needed.
  forget() {
    for (const position of this.known.keys())
      if (Math.abs(position - this.at) > 300) this.known.delete(position);
  }

  post() {
    if (!this.root.isConnected) return; // what is unsaved is on the shelf
    this.number += 1;
    const item = this.item?.id ?? null;
    const has = [...this.known.keys()].filter((p) => Math.abs(p - this.at) <= NEAR);
    this.send({ number: this.number, at: this.at, item, has, entries: this.pending });
    clearTimeout(this.retry);
    if (this.pending.length) this.retry = setTimeout(() => this.post(), RETRY_MS);
  }

  // ---- where we are ---------------------------------------------------------------------------

  get item() {
    return this.known.get(this.at);
  }

  // How a candidate stands: what the server told, and what was decided since.
  standing(item) {
    const found = { note: "", ...(this.states[this.at] ?? this.byMark(this.at)) };
    for (const entry of this.pending) {
      if (entry.item !== item.id) continue;
      if (entry.verdict === "flag" || entry.verdict === "unflag")
        found.flagged = entry.verdict === "flag";
      else if (entry.verdict === "undo") takeBack(found, entry.undone);
      else Object.assign(found, pick(entry), { by: this.data.reviewer, when: null });
    }
    return found;
  }

  // Outside the window that the server told all of, at least the verdict is known.
  byMark(position) {
    const found = Object.entries(LETTERS).find(([, mark]) => mark === this.data.marks[position]);
    return { verdict: found?.[0] ?? null };
  }

  // One letter for each candidate, with what was decided since the server told.
  marks() {
    const marks = [...this.data.marks];
    for (const { position, verdict, undone } of this.pending)
      if (verdict in LETTERS) marks[position] = LETTERS[verdict];
      else if (verdict === "undo" && undone in LETTERS) marks[position] = ".";
    return marks;
  }

  go(position) {
    this.at = Math.min(Math.max(position, 0), this.data.total); // one behind the last is the end
    this.leave();
    this.post();
    this.show();
  }

  leave() {
    this.reason = null;
    this.reference = 0;
    this.told = null;
    this.compare = null;
    this.view = { scale: 1, x: 0, y: 0 };
  }

  // What was written and not decided upon yet: there again when the candidate is.
  get draft() {
    return this.drafts[this.item?.id] ?? "";
  }

  set draft(text) {
    if (!this.item) return;
    if (text) this.drafts[this.item.id] = text;
    else delete this.drafts[this.item.id];
    this.lay("drafts", Object.keys(this.drafts).length ? this.drafts : null);
  }

  next() {
    const marks = this.marks();
    const after = marks.indexOf(".", this.at + 1);
    const any = after < 0 ? marks.slice(0, this.at).indexOf(".") : after;
    return any < 0 ? this.data.total : any;
  }

  // ---- decisions ------------------------------------------------------------------------------

  enter(verdict, more = {}) {
    const item = this.item;
    this.pending.push({
      uuid: uuid(), item: item.id, position: this.at, name: item.name, verdict,
      reviewer: this.data.reviewer, seen: this.data.seq, ...more,
    });
    this.keep();
  }

  decide(verdict) {
    if (!this.item) return;
    const reason = verdict === "reject" ? this.reason : null;
    const before = this.standing(this.item);
    this.enter(verdict, { reason, note: (this.draft || before.note || "").trim() });
    this.draft = "";
    this.go(this.next());
  }

  flag() {
    if (!this.item) return;
    this.enter(this.standing(this.item).flagged ? "unflag" : "flag");
    this.post();
    this.show();
  }

  // A reason for what is decided already is a new decision; otherwise it waits for the X.
  because(reason) {
    if (!this.item) return;
    const now = this.standing(this.item);
    if (now.verdict === "reject") {
      this.enter("reject", { reason: now.reason === reason ? null : reason, note: now.note });
      this.post();
    } else this.reason = this.reason === reason ? null : reason;
    this.show();
  }

  remark(text) {
    const now = this.item && this.standing(this.item);
    if (!now || (now.verdict !== "reject" && now.verdict !== "accept")) return;
    if (text.trim() === (now.note ?? "")) return;
    this.enter(now.verdict, { reason: now.reason, note: text.trim() });
    this.draft = "";
    this.post();
    this.show();
  }

  undo() {
    const undos = this.pending.filter(({ verdict }) => verdict === "undo");
    const taken = new Set(undos.map((entry) => entry.undo_of ?? entry.undo_batch));
    const known = new Set(this.data.undo.map((row) => row.uuid));
    const own = this.pending.filter(({ verdict, uuid }) => verdict !== "undo" && !known.has(uuid));
    const steps = [...this.data.undo, ...own];
    const last = steps.findLast(({ uuid, batch }) => !taken.has(uuid) && !taken.has(batch));
    if (!last) return this.tell("There is nothing to take back.");
    const which = last.batch ? { undo_batch: last.batch } : { undo_of: last.uuid };
    this.pending.push({
      uuid: uuid(), item: last.item, position: last.position, name: last.name, verdict: "undo",
      reviewer: this.data.reviewer, undone: last.verdict, seen: this.data.seq, ...which,
    });
    this.keep();
    this.go(last.position >= 0 ? last.position : this.at);
    this.tell(last.batch ? "Took back the last batch." : `Took back: ${last.name}.`);
  }

  tell(text) {
    this.told = text;
    this.show();
  }

  // ---- looking --------------------------------------------------------------------------------

  toggle(how) {
    this.compare = this.compare === how ? null : how;
    this.show();
  }

  refer(index) {
    this.reference = index;
    this.show();
  }

  zoom(factor, x = 0.5, y = 0.5) {
    const before = this.view.scale;
    const scale = Math.min(Math.max(before * factor, 1), LARGEST_ZOOM);
    // The spot under the pointer stays where it is.
    this.view.x = x - ((x - this.view.x) * scale) / before;
    this.view.y = y - ((y - this.view.y) * scale) / before;
    this.view.scale = scale;
    this.hold();
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.hold();
  }

  hold() {
    const least = 1 - this.view.scale;
    this.view.x = Math.min(Math.max(this.view.x, least), 0);
    this.view.y = Math.min(Math.max(this.view.y, least), 0);
    const style = this.root.style;
    style.setProperty("--zoom", this.view.scale);
    style.setProperty("--pan-x", `${100 * this.view.x}%`);
    style.setProperty("--pan-y", `${100 * this.view.y}%`);
  }

  // ---- keys -----------------------------------------------------------------------------------

  get keysOn() {
    return this.quiet !== true;
  }

  key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const inside = event.composedPath();
    const target = inside[0];
    if (target.matches?.("input, textarea, select, [contenteditable]")) {
      if (target === this.parts.note && event.key === "Escape") target.blur();
      return;
    }
    if (!this.root.isConnected || document.querySelector("[role=dialog]")) return;
    if (this.parts.help.open && event.key !== "?") return;
    const own = inside.includes(this.root);
    const link = target.closest?.("a");
    if (link && event.key === "Enter") return;
    const button = target.closest?.("button, [role=radio], [role=slider], [role=tab], summary");
    if (button && (!own || event.key === " ") && [" ", "Enter"].includes(event.key)) return;
    if (button && !own && event.key.startsWith("Arrow")) return;
    if (!this.keysOn && event.key !== "?") return;
    const way = event.shiftKey && WAYS[event.key];
    if (way) {
      event.preventDefault();
      this.pan(...way);
      return;
    }
    const act = this.actions()[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    if (!event.repeat || event.key.startsWith("Arrow")) act();
  }

  actions() {
    const reasons = Object.fromEntries(
      this.data.reasons.map(([name], i) => [String(i + 1), () => this.because(name)]),
    );
    return {
      a: () => this.decide("accept"),
      x: () => this.decide("reject"),
      " ": () => this.decide("skip"),
      z: () => this.undo(),
      Backspace: () => this.undo(),
      f: () => this.flag(),
      ArrowRight: () => this.go(this.at + 1),
      ArrowLeft: () => this.go(this.at - 1),
      d: () => this.toggle("difference"),
      b: () => this.toggle("blink"),
      "+": () => this.zoom(1.5),
      "=": () => this.zoom(1.5),
      "-": () => this.zoom(1 / 1.5),
      0: () => this.zoom(1 / LARGEST_ZOOM),
      n: () => this.parts.note.focus(),
      "?": () => this.help(),
      ...reasons,
    };
  }

  help() {
    const { help } = this.parts;
    if (help.open) help.close();
    else help.showModal();
  }

  show() {
    draw(this);
  }
}

// The name is there again in the next tab, whatever link opens it.
function remember(reviewer) {
  const kept = "path=/; max-age=31536000; SameSite=Lax";
  document.cookie = `eap_reviewer=${encodeURIComponent(reviewer)}; ${kept}`;
}

// Until the server tells how the candidate stands without it.
function takeBack(found, verdict) {
  if (verdict === "flag" || verdict === "unflag") found.flagged = verdict === "unflag";
  else Object.assign(found, { verdict: null, reason: null, note: "", by: null });
}

function pick({ verdict, reason, note }) {
  return { verdict, reason: reason ?? null, note: note ?? "" };
}

// Not all servers are reached over HTTPS, where alone the browser has randomUUID.
function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
