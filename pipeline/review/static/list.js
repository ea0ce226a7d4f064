// The list of conversations: however many there are, only rows that can be seen are in the page.
import { badge, h } from "./dom.js";

const HEIGHT = 58;
const BEYOND = 6;

/** A virtual list in a `listbox` element. */
export class List {
  #element;
  #space = h("div.space", { role: "presentation" });
  #rows;
  #numbers = [];
  #chosen = null;
  #drawing = false;

  /** `choose` is called with the number of a row that is chosen here. */
  constructor(element, rows, choose) {
    this.#element = element;
    this.#rows = rows;
    element.replaceChildren(this.#space);
    element.addEventListener("scroll", () => this.#later());
    new ResizeObserver(() => this.#later()).observe(element);
    element.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) choose(Number(row.dataset.number));
    });
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const page = Math.max(1, Math.floor(element.clientHeight / HEIGHT) - 1);
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const number = this.beside(steps[event.key]);
      if (number !== null) choose(number);
    });
  }

  /** List the rows of these numbers. */
  show(numbers) {
    this.#numbers = numbers;
    this.#space.style.height = `${numbers.length * HEIGHT}px`;
    this.draw();
  }

  /** The number `step` rows from the chosen one, or the nearest end; null if nothing is listed. */
  beside(step) {
    if (this.#numbers.length === 0) return null;
    const place = this.#numbers.indexOf(this.#chosen);
    const wanted = place < 0 ? (step > 0 && step < Infinity ? 0 : step > 0 ? Infinity : 0) : place + step;
    return this.#numbers[Math.min(Math.max(wanted, 0), this.#numbers.length - 1)];
  }

  /** Mark a row as the chosen one and bring it into sight. */
  choose(number) {
    this.#chosen = number;
    const place = this.#numbers.indexOf(number);
    if (place >= 0) {
      const top = place * HEIGHT;
      const { scrollTop, clientHeight } = this.#element;
      if (top < scrollTop) this.#element.scrollTop = top;
      else if (top + HEIGHT > scrollTop + clientHeight) this.#element.scrollTop = top + HEIGHT - clientHeight;
    }
    this.draw();
  }

  /** Draw the rows in sight. */
  draw() {
    const { scrollTop, clientHeight } = this.#element;
    const first = Math.max(0, Math.floor(scrollTop / HEIGHT) - BEYOND);
    const last = Math.min(this.#numbers.length, Math.ceil((scrollTop + clientHeight) / HEIGHT) + BEYOND);
    const drawn = [];
    for (let place = first; place < last; place++) drawn.push(this.#row(place));
    this.#space.replaceChildren(...drawn);
    const active = this.#space.querySelector("[aria-selected=true]");
    if (active) this.#element.setAttribute("aria-activedescendant", active.id);
    else this.#element.removeAttribute("aria-activedescendant");
  }

  #later() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.draw();
    });
  }

  #row(place) {
    const number = this.#numbers[place];
    const row = this.#rows[number];
    const element = h(
      "div.row",
      {
        id: `row-${number}`,
        role: "option",
        "aria-selected": String(number === this.#chosen),
        "aria-posinset": place + 1,
        "aria-setsize": this.#numbers.length,
        "data-number": number,
      },
      h("span.name", { title: row.id }, row.id),
      h("span.score", {}, row.combined ?? (row.grades.some((grade) => grade.score !== null) ? "no score" : "")),
      h("span.about", {}, results(row), " ", about(row)),
    );
    element.style.top = `${place * HEIGHT}px`;
    return element;
  }
}

/** The results of a row's grades, each word once, with how often. */
function results(row) {
  const counts = new Map();
  for (const { result } of row.grades) counts.set(result, (counts.get(result) ?? 0) + 1);
  return ["errored", "failed", "missing", "passed"]
    .filter((word) => counts.has(word))
    .map((result) => {
      const word = result === "missing" ? "not graded" : result;
      return badge(result, row.grades.length > 1 ? `${word} ${counts.get(result)}` : word);
    });
}

function about(row) {
  const said = [];
  if (row.test !== null) said.push(row.rollout === null ? row.test : `${row.test} #${row.rollout}`);
  if (row.title !== null) said.push(row.title);
  if (row.status !== "completed") said.push(row.status);
  if (row.grades.some((grade) => grade.split)) said.push("split votes");
  if (row.mark?.disagrees.length) said.push("label differs");
  if (row.mark?.labelled) said.push(`labelled ${row.mark.labelled} / ${row.statements}`);
  return said.join(" · ");
}
