// What was decided: graders with their scores, statements with their verdicts, checks.
import { badge, button, counted, h } from "./dom.js";
import { labelControls, otherLabels } from "./labels.js";

/** The grades of a conversation. `does.cite` opens a citation, `does.label` stores a label. */
export function verdicts(view, labelling, does) {
  const parts = view.grades.map((grade, place) => gradeElement(grade, place, labelling, does));
  const missing = view.missing.map(({ grader, why }) =>
    h("section.grade", {}, h("h3", {}, grader, " ", badge("missing", "not graded")), h("p", {}, why)),
  );
  return h(
    "section.verdicts",
    { "aria-label": "Verdicts" },
    parts.length || missing.length ? [parts, missing] : h("p.empty", {}, "No grader was selected for this conversation."),
  );
}

function gradeElement(grade, place, labelling, does) {
  const title = grade.hidden ? h("small", {}, "hidden until you have labelled every statement") : badge(grade.result);
  return h(
    `section.grade`,
    { "aria-label": `Grader ${grade.grader}` },
    h("h3", {}, grade.grader, " ", title),
    grade.hidden ? null : h("p.score", {}, score(grade)),
    grade.error ? failure(grade.error) : null,
    (grade.statements ?? []).map((row) => statementElement(row, grade, place, labelling, does)),
    grade.checks ? h("ul.checks", {}, grade.checks.map(checkElement)) : null,
  );
}

function score(grade) {
  const gates = grade.gating ? "" : " Does not gate the run.";
  const noun = grade.type === "checks" ? "check" : "statement";
  if (grade.score === null) return `No score, ${counted(grade.total ?? 0, noun)}, threshold ${grade.threshold}.${gates}`;
  return `${grade.met} / ${grade.total} ${grade.type === "checks" ? "passed" : "met"}, score ${grade.score}, threshold ${grade.threshold}.${gates}`;
}

function statementElement(row, grade, place, labelling, does) {
  const word = row.error ? "errored" : row.decision;
  return h(
    "article.statement",
    { tabIndex: -1, "data-grade": place, "data-statement": row.id, "aria-label": `Statement ${row.id}` },
    h(
      "header",
      {},
      h("span.number", {}, row.id),
      row.hidden ? badge("missing", "hidden") : badge(word),
      row.required ? h("span.tag", {}, "required") : null,
      !row.hidden && grade.error && !row.error ? h("span.tag", {}, "not counted") : null,
    ),
    h("p.text", {}, row.text),
    row.hidden ? null : judged(row, does),
    labelling ? otherLabels(row, labelling.reviewer) : null,
    labelling ? labelControls(row, (label, note) => does.label(place, row.id, label, note)) : null,
  );
}

function judged(row, does) {
  return [
    row.error ? failure(row.error) : null,
    row.error && row.decision ? h("p.note", {}, "The judge said ", badge(row.decision)) : null,
    row.rationale ? h("p.rationale", {}, row.rationale) : null,
    row.citations.length ? h("ul.citations", {}, row.citations.map((citation) => cited(citation, does))) : null,
    row.votes ? votes(row.votes) : null,
    row.windows ? windows(row.windows) : null,
    h("p.provenance", {}, provenance(row)),
  ];
}

function cited(citation, does) {
  const found = citation.verified ? "verified" : "not found there";
  const open = button(
    [
      h("span.number", {}, String(citation.turn)),
      h("q", {}, citation.quote),
      h(`span.${citation.verified ? "verified" : "unverified"}`, {}, found),
    ],
    () => does.cite(citation, open),
    { className: "cite", "aria-label": `Turn ${citation.turn}, ${found}: ${citation.quote}` },
  );
  return h("li", {}, open);
}

function votes(rows) {
  return h(
    "details.votes",
    {},
    h("summary", {}, `${counted(rows.length, "vote")}: ${tally(rows)}`),
    rows.map((vote) =>
      h(
        "div.vote",
        {},
        h("p", {}, badge(vote.error ? "errored" : vote.decision), ` ${vote.judge}, sample ${vote.sample + 1} · ${vote.model}${vote.cached ? " · cached" : ""}`),
        vote.error ? failure(vote.error) : null,
        vote.rationale ? h("p.rationale", {}, vote.rationale) : null,
        vote.windows ? windows(vote.windows) : null,
      ),
    ),
  );
}

function windows(rows) {
  return h(
    "details.windows",
    {},
    h("summary", {}, `${counted(rows.length, "window")}: ${tally(rows)}`),
    rows.map((row) =>
      h(
        "div.vote",
        {},
        h("p", {}, badge(row.error ? "errored" : row.decision), ` window ${row.window}, ${span(row)}${row.cached ? " · cached" : ""}`),
        row.cut.length ? h("p.note", {}, row.cut.join("; ")) : null,
        row.error ? failure(row.error) : null,
        row.rationale ? h("p.rationale", {}, row.rationale) : null,
      ),
    ),
  );
}

function span(row) {
  if (row.first_turn === null) return "the agent's output";
  return row.first_turn === row.last_turn ? `turn ${row.first_turn}` : `turns ${row.first_turn} to ${row.last_turn}`;
}

function tally(rows) {
  const counts = new Map();
  for (const row of rows) {
    const word = row.error ? "errored" : row.decision.replace("_", " ");
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}

function provenance(row) {
  const { input_tokens: input, output_tokens: output } = row.usage;
  const source = row.source === "cache" ? "cached" : row.source;
  const said = [source ?? (row.error ? "no answer" : "mixed sources"), row.judge, row.model];
  if (row.served_model && !row.model.endsWith(row.served_model)) said.push(`served by ${row.served_model}`);
  said.push(counted(row.attempts, "attempt"));
  if (input !== null || output !== null) said.push(`${input ?? "?"} + ${output ?? "?"} tokens`);
  said.push(row.cost_usd === null ? "cost unknown" : dollars(row.cost_usd));
  return said.join(" · ");
}

/** US dollars, as the run's table writes them. */
export function dollars(cost) {
  return cost === 0 ? "$0" : cost >= 0.0001 ? `$${cost.toFixed(4)}` : "under $0.0001";
}

function failure({ cause, message, retryable }) {
  return h("div.failure", {}, h("strong", {}, cause), ` ${message}`, retryable ? h("p.note", {}, "`adjudge resume` asks again") : null);
}

function checkElement(check) {
  return h(
    "li",
    {},
    badge(check.passed ? "met" : "not_met", check.passed ? "passed" : "failed"),
    h("span", {}, ` ${check.label}`),
    check.required ? null : h("span.tag", {}, "optional"),
    check.detail ? h("p.rationale", {}, check.detail) : null,
  );
}
