// What people say of a statement, and the controls to say it.
import { button, h } from "./dom.js";

const WORDS = { met: "Met", not_met: "Not met", undecidable: "Undecidable" };
const OTHER = { met: "not_met", not_met: "met" };

/**
 * What one can say of a statement, in the order of the keys 1, 2, 3: its label, and the word for it.
 * Of a decision that is seen one says whether it is right; else, what is true.
 */
export function answers(statement) {
  const said = statement.error ? null : statement.decision;
  if (said in OTHER) {
    return [
      [said, `Right (${WORDS[said].toLowerCase()})`],
      [OTHER[said], `Wrong (${WORDS[OTHER[said]].toLowerCase()})`],
      ["undecidable", WORDS.undecidable],
    ];
  }
  return Object.entries(WORDS);
}

/** The controls to label a statement; `say` is called with a label and a note. */
export function labelControls(statement, say) {
  const mine = statement.mine ?? null;
  const note = h("input.say", {
    type: "text",
    value: mine?.note ?? "",
    maxLength: 10000,
    placeholder: "Note (m)",
    "aria-label": "Note on your label",
  });
  const buttons = answers(statement).map(([label, word], place) =>
    button([h("kbd", {}, String(place + 1)), ` ${word}`], () => say(label, note.value), {
      "aria-pressed": String(mine?.label === label),
      "data-label": label,
    }),
  );
  note.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (mine) say(mine.label, note.value);
    else buttons[0].focus();
  });
  return h(
    "div.labelling",
    { role: "group", "aria-label": "Your label" },
    h("div.buttons", {}, buttons),
    note,
    mine ? h("p.note", {}, `You said ${WORDS[mine.label].toLowerCase()}${mine.blind ? ", blind" : ""}.`) : null,
  );
}

/** What others said of a statement. */
export function otherLabels(statement, reviewer) {
  const others = (statement.labels ?? []).filter((label) => label.reviewer !== reviewer);
  if (!others.length) return null;
  return h(
    "ul.others",
    { "aria-label": "Labels of others" },
    others.map((label) =>
      h(
        "li",
        {},
        h("strong", {}, `${label.reviewer || "somebody"}: ${WORDS[label.label].toLowerCase()}`),
        label.blind ? " (blind)" : "",
        label.note ? ` — ${label.note}` : "",
      ),
    ),
  );
}
