// The conversation as a chat: turns with the numbers the judge knows them by.
import { button, counted, h } from "./dom.js";

const LONG = 20000;
const whole = new WeakMap();

/** The turns of a conversation, with what was left out of them. */
export function transcript(view) {
  const beside = new Set(
    view.turns.flatMap((turn) => (turn.tool_calls ?? []).filter((call) => call.beside).map((call) => call.result)),
  );
  const turns = view.turns.filter((turn) => !beside.has(turn.turn)).map((turn) => turnElement(turn, view.turns));
  return h(
    "section.transcript",
    { "aria-label": "Transcript" },
    h("h3", {}, "Transcript ", h("small", {}, counted(view.turns.length, "turn"))),
    notes("Left out of what the judge saw", view.left_out),
    view.metadata ? folded("Metadata shown to the judge", view.metadata) : null,
    turns.length ? turns : h("p.empty", {}, "This conversation has no turns."),
    view.agent_output === null
      ? null
      : h("article.turn.assistant", {}, h("header", {}, "agent output"), words(view.agent_output)),
  );
}

/** Show a turn, and mark the quoted words in it where they are found. Says whether they were. */
export function jump(root, { turn, quote }) {
  for (const mark of root.querySelectorAll("mark.quote")) {
    const parent = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    parent.normalize();
  }
  root.querySelector(".turn.cited")?.classList.remove("cited");
  const element = root.querySelector(`[data-turn="${turn}"]`);
  if (!element) return false;
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  element.classList.add("cited");
  const own = [...element.querySelectorAll(".words")].filter((each) => each.closest(".turn") === element);
  const mark = own.map((each) => markQuote(each, quote)).find(Boolean);
  (mark ?? element).scrollIntoView({ block: "center" });
  element.focus({ preventScroll: true });
  return Boolean(mark);
}

function turnElement(turn, turns) {
  const speaker = turn.name ? `${turn.role} ${turn.name}` : turn.role;
  const calls = (turn.tool_calls ?? []).map((call) => callElement(call, turns));
  return h(
    `article.turn.${turn.role}${turn.error !== undefined ? ".broken" : ""}`,
    { tabIndex: -1, "data-turn": turn.turn, "aria-label": `Turn ${turn.turn}, ${speaker}` },
    h(
      "header",
      {},
      h("span.number", {}, String(turn.turn)),
      h("span.speaker", {}, speaker),
      turn.of ? h("span", {}, `result for turn ${turn.of}`) : null,
      turn.timestamp ? h("time", {}, turn.timestamp) : null,
    ),
    (turn.parts ?? [turn.text ?? turn.result]).map((part) => (typeof part === "string" ? words(part) : named(part))),
    turn.error === undefined ? null : h("div.failure", {}, h("strong", {}, "tool error "), words(turn.error)),
    turn.left_out ? h("p.note", {}, `left out: ${turn.left_out}`) : null,
    calls,
  );
}

function callElement(call, turns) {
  const result = call.beside ? turns[call.result - 1] : null;
  const short = call.arguments.replace(/\s+/g, " ");
  const outcome =
    result === null
      ? call.result === null ? "no result" : `result in turn ${call.result}`
      : result.error !== undefined ? "tool error" : `result in turn ${call.result}`;
  return h(
    `details.call${result?.error !== undefined ? ".broken" : ""}`,
    {},
    h(
      "summary",
      {},
      h("code.name", {}, call.name),
      h("code.short", {}, short.length > 200 ? `${short.slice(0, 200)}…` : short),
      h("span.outcome", {}, outcome),
    ),
    words(call.arguments, "pre"),
    result === null ? null : turnElement(result, turns),
  );
}

/** A part that is not text: what it is called, and the picture where the judge was shown it. */
function named(part) {
  const { type, text, image, ...rest } = part ?? {};
  if (type === undefined) return null;
  const said = [`[${type}]`, ...Object.entries(rest).map(([key, value]) => `${key} ${value}`)].join(" · ");
  return h(
    "div.part",
    {},
    h("p.note", {}, said),
    image ? h("img", { src: image, alt: said, loading: "lazy" }) : null,
    text ? words(text) : null,
  );
}

/** Text as it was written. Of very long text the beginning, and the rest when asked for. */
function words(text, tag = "div") {
  const element = h(`${tag}.words`, {}, text.slice(0, LONG));
  if (text.length <= LONG) return element;
  whole.set(element, text);
  element.append(
    button(`Show all ${text.length.toLocaleString("en")} characters`, () => expand(element), { className: "more" }),
  );
  return element;
}

function expand(element) {
  const text = whole.get(element);
  whole.delete(element);
  if (text !== undefined) element.replaceChildren(text);
}

function markQuote(element, quote) {
  const text = whole.get(element) ?? element.textContent;
  const found = place(text, quote);
  if (found === null) return null;
  if (found[1] > LONG) expand(element);
  const node = element.firstChild;
  const range = document.createRange();
  range.setStart(node, found[0]);
  range.setEnd(node, found[1]);
  const mark = h("mark.quote");
  range.surroundContents(mark);
  return mark;
}

/** Where a quote stands in a text, as it is or without what retyping changes; null if it is not found. */
function place(text, quote) {
  const exact = quote === "" ? -1 : text.indexOf(quote);
  if (exact >= 0) return [exact, exact + quote.length];
  const pieces = quote.split(/[[(]?(?:\.{3,}|…)[\])]?/).map((piece) => plain(piece)[0]).filter(Boolean);
  const [words, places] = plain(text);
  let start = -1;
  let end = 0;
  for (const piece of pieces) {
    const found = words.indexOf(piece, end);
    if (found < 0) return null;
    if (start < 0) start = found;
    end = found + piece.length;
  }
  return start < 0 ? null : [places[start], places[end - 1] + 1];
}

/** A text without white space, quotation marks and escapes, its dashes alike; and where each character stood. */
function plain(text) {
  const kept = [];
  const places = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "\\" && "nrt".includes(text[at + 1] ?? "?")) at++;
    else if (!/[\s"'`´“”„‘’‚«»\\*]/.test(character)) {
      kept.push(/[‐-―−]/.test(character) ? "-" : character);
      places.push(at);
    }
  }
  return [kept.join(""), places];
}

function notes(title, lines) {
  if (!lines.length) return null;
  return h("details.left-out", {}, h("summary", {}, title), h("ul", {}, lines.map((line) => h("li", {}, line))));
}

function folded(title, text) {
  return h("details", {}, h("summary", {}, title), h("pre", {}, text));
}
