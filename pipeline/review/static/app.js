// The review page: the list, the conversation that is open, and the keys.
import { button, byId, counted, h } from "./dom.js";
import { Filters } from "./filters.js";
import { answers } from "./labels.js";
import { List } from "./list.js";
import { showHead, showHelp } from "./head.js";
import { openSource } from "./source.js";
import { jump, transcript } from "./transcript.js";
import { verdicts } from "./verdicts.js";

class Page {
  #source = openSource();
  #main = byId("conversation");
  #shortcuts = { on: true };
  #rows;
  #labelling;
  #filters;
  #list;
  #opened = null;
  #wanted = null;
  #view = null;
  #statement = 0;
  #citation = -1;
  #back = null;

  async open() {
    const { head, marks, rows } = await this.#source.run();
    for (const [number, mark] of Object.entries(marks)) rows[number].mark = mark;
    this.#rows = rows;
    this.#labelling = head.labelling;
    showHead(byId("head"), head, () => this.#help());
    this.#list = new List(byId("list"), rows, (number) => this.#go(number));
    this.#filters = new Filters(byId("filters"), {
      rows,
      labelling: head.labelling,
      search: (words) => this.#source.search(words).catch(complain),
      changed: () => this.#refresh(),
    });
    this.#refresh();
    byId("skip").addEventListener("click", () => this.#main.focus());
    addEventListener("hashchange", () => this.#follow());
    addEventListener("keydown", (event) => this.#key(event));
    if (location.hash.length > 1) await this.#follow();
    else if (rows.length && matchMedia("(min-width: 700px)").matches) this.#go(this.#list.beside(1), { quiet: true });
    else this.#main.replaceChildren(h("p.empty", {}, rows.length ? "Choose a conversation." : "This run has no conversations."));
    document.body.dataset.ready = "";
  }

  #refresh() {
    const numbers = this.#filters.listed();
    this.#list.show(numbers);
    byId("found").textContent = `${numbers.length.toLocaleString("en")} of ${counted(this.#rows.length, "conversation")}`;
  }

  /** Open a conversation by its address; the address is what Back and a reload come back to. */
  #go(number, { quiet = false } = {}) {
    const address = `#${number + 1}`;
    if (this.#opened === null && !quiet) location.hash = address;
    else history.replaceState(null, "", address);
    if (this.#opened !== null || quiet) this.#follow({ quiet });
  }

  async #follow({ quiet = false } = {}) {
    const number = Number(location.hash.slice(1)) - 1;
    if (!(number in this.#rows)) {
      document.body.dataset.view = "list";
      this.#opened = null;
      return;
    }
    if (!quiet) document.body.dataset.view = "conversation";
    if (number === this.#wanted && this.#opened !== null) return;
    this.#wanted = number;
    hush();
    this.#list.choose(number);
    const view = await this.#source.conversation(number).catch(complain);
    if (view === undefined || number !== this.#wanted) return;
    this.#opened = number;
    this.#statement = 0;
    this.#main.dataset.pane = this.#labelling?.blind ? "transcript" : "verdicts";
    this.#show(view);
    this.#main.scrollTop = 0;
  }

  #show(view) {
    const focused = this.#main.contains(document.activeElement);
    this.#main.replaceChildren(this.#facts(view), h("div.both", {}, transcript(view), this.#verdicts(view)));
    this.#citation = -1;
    this.#mark();
    if (focused) this.#main.focus({ preventScroll: true });
  }

  #verdicts(view) {
    this.#view = view;
    this.#back = null;
    return verdicts(view, this.#labelling, {
      cite: (citation, from) => this.#cite(citation, from),
      label: (grade, statement, label, note) => this.#label(grade, statement, label, note),
    });
  }

  #facts(view) {
    const pane = (name, text) =>
      button(text, () => this.#pane(name), { "data-shows": name, "aria-pressed": String(this.#main.dataset.pane === name) });
    const ended = view.termination_reason ? `${view.status} (${view.termination_reason})` : view.status;
    const said = [
      view.test === null ? null : `${view.test}${view.rollout === null ? "" : `, rollout ${view.rollout}`}`,
      view.title,
      ended,
      view.grading_state === null ? null : `grading ${view.grading_state.replace("_", " ")}`,
      view.hidden ? null : combined(view),
      `${counted(view.tool_calls, "tool call")}, ${counted(view.tool_errors, "tool error")}`,
    ];
    return h(
      "header.about",
      {},
      button("‹ List", () => this.#toList(), { className: "to-list" }),
      h("h2", { title: view.id }, view.id),
      h("p", {}, said.filter(Boolean).join(" · ")),
      view.error ? h("p.failure", {}, `ended with: ${view.error}`) : null,
      view.agent_pov_incomplete ? h("p.failure", {}, "Evidence flagged incomplete: grades speak of what was seen.") : null,
      h("div.panes-choice", { role: "group", "aria-label": "Show" }, pane("verdicts", "Verdicts"), pane("transcript", "Transcript")),
    );
  }

  #toList() {
    document.body.dataset.view = "list";
    byId("list").focus();
  }

  #pane(name) {
    this.#main.dataset.pane = name;
    for (const each of this.#main.querySelectorAll("[data-shows]")) {
      each.setAttribute("aria-pressed", String(each.dataset.shows === name));
    }
  }

  #cite(citation, from) {
    this.#back = from;
    this.#choose(from.closest(".statement"));
    this.#pane("transcript");
    const found = jump(this.#main, citation);
    if (!found) say(`The quoted words were not found in turn ${citation.turn}.`);
    else hush();
  }

  async #label(grade, statement, label, note) {
    const conversation = this.#opened;
    const done = await this.#source.label({ conversation, grade, statement, label, note }).catch(complain);
    if (done === undefined) return;
    this.#rows[conversation].mark = done.mark;
    this.#filters.count();
    this.#list.draw();
    if (conversation !== this.#opened) return;
    const old = this.#main.querySelector(".verdicts");
    const { scrollTop } = old;
    const fresh = this.#verdicts(done.conversation);
    old.replaceWith(fresh);
    fresh.scrollTop = scrollTop;
    this.#main.querySelector(".about").replaceWith(this.#facts(done.conversation));
    this.#choose(fresh.querySelector(`[data-grade="${grade}"][data-statement="${statement}"]`));
    this.#current().focus({ preventScroll: true });
    say(`Stored: ${label.replace("_", " ")}.`);
  }

  #statements() {
    return [...this.#main.querySelectorAll(".statement")];
  }

  #current() {
    return this.#statements()[this.#statement];
  }

  #choose(element) {
    this.#statement = Math.max(0, this.#statements().indexOf(element));
    this.#mark();
  }

  #mark() {
    this.#statements().forEach((each, place) => {
      if (place === this.#statement) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    });
  }

  /** To the statement `step` from the one with the focus, or back to the last one that had it. */
  #step(step) {
    const inside = document.activeElement.closest(".statement");
    if (inside) this.#choose(inside);
    const last = this.#statements().length - 1;
    if (last < 0) return;
    this.#statement = Math.min(Math.max(this.#statement + (inside ? step : 0), 0), last);
    this.#citation = -1;
    this.#mark();
    this.#pane("verdicts");
    this.#current().focus({ preventScroll: true });
    this.#current().scrollIntoView({ block: "nearest" });
  }

  #help() {
    showHelp(byId("help"), this.#labelling, this.#shortcuts);
    byId("help").showModal();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const field = event.target.matches("input, select, textarea");
    if (event.key === "Escape") {
      if (field) event.target.blur();
      else if (document.body.dataset.view === "conversation") this.#toList();
      return;
    }
    if (field || !this.#shortcuts.on || !(event.key in this.#does)) return;
    event.preventDefault();
    this.#does[event.key]();
  }

  #does = {
    j: () => this.#beside(1),
    k: () => this.#beside(-1),
    n: () => this.#step(1),
    p: () => this.#step(-1),
    c: () => this.#nextCitation(),
    b: () => this.#goBack(),
    t: () => this.#pane(this.#main.dataset.pane === "verdicts" ? "transcript" : "verdicts"),
    u: () => this.#nextUnlabelled(),
    m: () => this.#current()?.querySelector("input.say")?.focus(),
    1: () => this.#answer(0),
    2: () => this.#answer(1),
    3: () => this.#answer(2),
    l: () => this.#toList(),
    "/": () => {
      document.body.dataset.view = "list";
      byId("words").select();
    },
    "?": () => this.#help(),
  };

  #beside(step) {
    const number = this.#list.beside(step);
    if (number !== null) this.#go(number, { quiet: document.body.dataset.view === "list" });
  }

  #nextCitation() {
    const citations = [...(this.#current()?.querySelectorAll(".cite") ?? [])];
    if (!citations.length) return;
    this.#citation = (this.#citation + 1) % citations.length;
    citations[this.#citation].click();
  }

  #goBack() {
    if (!this.#back) return;
    this.#pane("verdicts");
    this.#back.focus();
  }

  #nextUnlabelled() {
    if (!this.#labelling) return;
    const open = (number) => (this.#rows[number].mark?.labelled ?? 0) < this.#rows[number].statements;
    const numbers = this.#filters.listed();
    const next = numbers.find((number) => number > (this.#opened ?? -1) && open(number)) ?? numbers.find(open);
    if (next === undefined) say("You have labelled every statement that is listed.");
    else this.#go(next);
  }

  #answer(place) {
    if (!this.#labelling) return;
    const element = this.#current();
    if (!element) return;
    const grade = Number(element.dataset.grade);
    const statement = this.#view.grades[grade].statements.find((row) => row.id === element.dataset.statement);
    const note = element.querySelector("input.say").value;
    this.#label(grade, statement.id, answers(statement)[place][0], note);
  }
}

function combined({ combined: score, scored, selected }) {
  return `${score === null ? "no combined score" : `combined score ${score}`} (${scored} of ${counted(selected, "grader")} scored)`;
}

let hushing;

/** Tell people something, for a while. */
function say(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = false;
  clearTimeout(hushing);
  hushing = setTimeout(hush, 6000);
}

function hush() {
  byId("problem").hidden = true;
}

function complain(error) {
  say(error.message);
}

new Page().open().catch(complain);
