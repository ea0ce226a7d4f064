// The run as a whole, and the keys.
import { badge, button, counted, h } from "./dom.js";
import { dollars } from "./verdicts.js";

const KEYS = [
  ["j, k", "next, previous conversation"],
  ["n, p", "next, previous statement"],
  ["c", "next citation of the statement: jump to its turn"],
  ["b", "back from a turn to the statement"],
  ["t", "transcript or verdicts (narrow windows)"],
  ["u", "next conversation with statements you have not labelled", true],
  ["1, 2, 3", "label the statement: right, wrong, undecidable (met, not met, undecidable where no decision is shown)", true],
  ["m", "note on your label; Enter stores it", true],
  ["/", "search"],
  ["l", "the list; arrows, Page Up, Page Down, Home, End move in it"],
  ["Esc", "out of a field; back to the list in narrow windows"],
  ["?", "these keys"],
];

/** Fill the page's head. */
export function showHead(element, head, help) {
  const { labelling } = head;
  const mode = labelling ? `${labelling.blind ? "blind labels" : "labels"} by ${labelling.reviewer || "nobody"}` : "read only";
  element.replaceChildren(
    h("h1", {}, head.suite, " ", h("small", {}, head.run_id)),
    head.policy ? h("p.policy", {}, `policy ${head.policy.name} `, badge(policyWord(head), head.policy.result.replace("_", " "))) : "",
    h("p.mode", { title: labelling?.file ?? "" }, mode),
    h("details.run", {}, h("summary", {}, "Run"), runElement(head)),
    button(["Keys ", h("kbd", {}, "?")], help, { id: "keys", "aria-keyshortcuts": "?" }),
  );
}

/** Fill the dialog of keys. `shortcuts` says whether keys of one letter act; the dialog can turn them off. */
export function showHelp(dialog, labelling, shortcuts) {
  const rows = KEYS.filter(([, , labels]) => labelling || !labels);
  const toggle = h("input", { type: "checkbox", checked: shortcuts.on });
  toggle.addEventListener("change", () => (shortcuts.on = toggle.checked));
  dialog.replaceChildren(
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", {}, rows.map(([keys, does]) => h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, does)))),
    h("label", {}, toggle, " Keys of one letter act"),
    h("form", { method: "dialog" }, h("button", { autofocus: true }, "Close")),
  );
}

function policyWord(head) {
  return { met: "passed", not_met: "failed" }[head.policy.result] ?? "errored";
}

function runElement(head) {
  const rows = [
    ["Begun", head.created],
    ["Conversations", head.conversations],
    head.labelling ? ["Labels", head.labelling.file] : null,
    head.policy ? ["Policy", [head.policy.name, ...head.policy.reasons].join("; ")] : null,
    head.exit ? ["Exit code", head.exit] : null,
    head.calls === undefined ? null : ["Calls", `${head.calls}, and ${head.cached} answers not called for`],
    head.calls === undefined ? null : ["Cost", cost(head)],
  ].filter(Boolean);
  return h(
    "div.facts",
    {},
    h("dl", {}, rows.map(([name, said]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(said))))),
    head.graders ? gradersTable(head.graders) : null,
    head.errors?.length
      ? h("ul", {}, head.errors.map((error) => h("li", {}, badge("errored", error.cause), ` ${error.count}: ${error.step}`)))
      : null,
    head.unreadable_count
      ? h("p", {}, badge("errored", "unreadable"), ` ${counted(head.unreadable_count, "record")}; the first: ${where(head.unreadable[0])}`)
      : null,
  );
}

function where({ file, line, reason }) {
  return `${file}${line === null ? "" : `:${line}`}: ${reason}`;
}

function cost({ cost_usd: known, cost_unknown_calls: unknown }) {
  const said = known === null ? [] : [dollars(known)];
  if (unknown) said.push(`unknown for ${counted(unknown, "call")}`);
  return said.join("; ") || "none";
}

function gradersTable(graders) {
  const heads = ["Grader", "Mean score", "Scored", "Possible"];
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, heads.map((word) => h("th", { scope: "col" }, word)))),
    h(
      "tbody",
      {},
      graders.map((row) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, row.grader),
          h("td", {}, row.mean),
          h("td", {}, `${row.scored} / ${row.selected}`),
          h("td", {}, row.scored === row.selected ? "" : `${row.lowest} to ${row.highest}`),
        ),
      ),
    ),
  );
}
