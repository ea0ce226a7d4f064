// Which conversations are listed.
import { badge, h } from "./dom.js";

const RESULTS = {
  errored: "Errored",
  failed: "Failed",
  passed: "Passed",
  missing: "Not graded",
};

const FLAGS = {
  unverified: "Unverified citation",
  disagreement: "Low agreement",
  unlabelled: "Not labelled by you",
};

const MEANS = {
  errored: "A grade has no score",
  failed: "A grade is below its threshold, or a required statement is not met",
  passed: "Every grade passed",
  missing: "No grade, or one is missing",
  unverified: "A quote stands in no turn",
  disagreement: "Votes are split, or a person's label differs from the judge's decision",
  unlabelled: "You have not labelled every statement",
};

/** The filters: their controls, and which rows they let through. */
export class Filters {
  #rows;
  #chosen = new Set();
  #grader = "";
  #judge = "";
  #found = null;
  #chips = new Map();
  #changed;

  /** Fill `form`; `changed` is called when other rows are listed, `search` finds numbers by words. */
  constructor(form, { rows, labelling, search, changed }) {
    this.#rows = rows;
    this.#changed = changed;
    const blind = labelling?.blind ?? false;
    const words = h("input", {
      id: "words",
      type: "search",
      placeholder: "Search everything said",
      "aria-label": "Search conversations",
      "aria-keyshortcuts": "/",
      autocomplete: "off",
      maxLength: 500,
    });
    let latest = 0;
    let waiting;
    words.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        const mine = ++latest;
        const found = words.value.trim() === "" ? null : new Set(await search(words.value.trim()));
        if (mine !== latest) return;
        this.#found = found;
        changed();
      }, 120);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    const flags = [...(blind ? [] : ["unverified", "disagreement"]), ...(labelling ? ["unlabelled"] : [])];
    const choices = [
      this.#choice("Grader", (name) => (this.#grader = name), (grade) => [grade.grader]),
      this.#choice("Judge", (name) => (this.#judge = name), (grade) => grade.judges),
    ];
    const parts = [
      words,
      blind ? null : this.#group("Result", Object.keys(RESULTS), RESULTS),
      flags.length ? this.#group("Look at", flags, FLAGS) : null,
      choices.some(Boolean) ? h("div.choices", {}, choices) : null,
    ];
    form.replaceChildren(...parts.filter(Boolean));
    this.count();
  }

  /** The numbers of the rows that are listed, in order. */
  listed() {
    const results = Object.keys(RESULTS).filter((word) => this.#chosen.has(word));
    const flags = Object.keys(FLAGS).filter((word) => this.#chosen.has(word));
    const numbers = [];
    this.#rows.forEach((row, number) => {
      if (!this.#concerns(row)) return;
      if (results.length && !results.some((word) => this.#has(row, word))) return;
      if (!flags.every((word) => this.#has(row, word))) return;
      if (this.#found !== null && !this.#found.has(number)) return;
      numbers.push(number);
    });
    return numbers;
  }

  /** Say on each filter how many conversations it lets through, of how many. */
  count() {
    const concerned = this.#rows.filter((row) => this.#concerns(row));
    for (const [word, chip] of this.#chips) {
      const count = concerned.filter((row) => this.#has(row, word)).length;
      chip.lastChild.textContent = ` ${count.toLocaleString("en")} / ${concerned.length.toLocaleString("en")}`;
    }
  }

  #group(label, words, names) {
    const chips = words.map((word) => {
      const chip = h(
        "button.chip",
        { type: "button", "aria-pressed": "false", title: MEANS[word], "data-filter": word },
        word in RESULTS ? badge(word, names[word]) : names[word],
        h("span.count"),
      );
      chip.addEventListener("click", () => this.#toggle(word));
      this.#chips.set(word, chip);
      return chip;
    });
    return h("div.chips", { role: "group", "aria-label": label }, chips);
  }

  #choice(label, choose, names) {
    const every = [...new Set(this.#rows.flatMap((row) => row.grades.flatMap(names)))].sort();
    if (every.length < 2) return null;
    const select = h(
      "select",
      { id: label.toLowerCase() },
      h("option", { value: "" }, `all (${every.length})`),
      every.map((name) => h("option", { value: name }, name)),
    );
    select.addEventListener("change", () => {
      choose(select.value);
      this.count();
      this.#changed();
    });
    return h("label", {}, `${label} `, select);
  }

  #toggle(word) {
    const on = !this.#chosen.delete(word);
    if (on) this.#chosen.add(word);
    this.#chips.get(word).setAttribute("aria-pressed", on);
    this.#changed();
  }

  #grades(row) {
    return row.grades.filter(
      (grade) =>
        (this.#grader === "" || grade.grader === this.#grader) &&
        (this.#judge === "" || grade.judges.includes(this.#judge)),
    );
  }

  #concerns(row) {
    return (this.#grader === "" && this.#judge === "") || this.#grades(row).length > 0;
  }

  #has(row, word) {
    const grades = this.#grades(row);
    if (word === "passed") return grades.length > 0 && grades.every((grade) => grade.result === "passed");
    if (word === "missing") return grades.length === 0 || grades.some((grade) => grade.result === "missing");
    if (word === "unverified") return grades.some((grade) => grade.unverified);
    if (word === "disagreement") {
      return grades.some((grade) => grade.split || row.mark?.disagrees.includes(grade.grader));
    }
    if (word === "unlabelled") return (row.mark?.labelled ?? 0) < row.statements;
    return grades.some((grade) => grade.result === word);
  }
}
