// Where the data comes from: the server the page came from, or the file it stands in.

/** The page's source. Both have `run`, `conversation` and `search`; only a server takes a `label`. */
export function openSource() {
  const run = document.getElementById("run");
  return run === null ? new Served() : new InFile(run);
}

class Served {
  run() {
    return this.#ask("run");
  }

  conversation(number) {
    return this.#ask(`conversations/${number}`);
  }

  search(words) {
    return this.#ask(`search?words=${encodeURIComponent(words)}`);
  }

  /** Store a label; returns the conversation and its mark as they are then. */
  label(label) {
    const headers = { "Content-Type": "application/json" };
    return this.#ask("labels", { method: "POST", headers, body: JSON.stringify(label) });
  }

  async #ask(path, options = {}) {
    let response;
    try {
      response = await fetch(path, options);
    } catch {
      throw new Error("adjudge does not answer; is `adjudge review` still running?");
    }
    if (response.ok) return response.json();
    const said = await response.json().catch(() => ({}));
    throw new Error(said.problem ?? `adjudge answered with status ${response.status}`);
  }
}

class InFile {
  #run;
  #conversations = document.querySelectorAll("script.conversation");

  constructor(run) {
    this.#run = run;
  }

  async run() {
    return JSON.parse(this.#run.textContent);
  }

  async conversation(number) {
    return JSON.parse(this.#conversations[number].textContent);
  }

  async search(words) {
    const needle = words.toLowerCase();
    const escaped = JSON.stringify(needle).slice(1, -1).replaceAll("<", "\\u003c");
    const found = [];
    this.#conversations.forEach((script, number) => {
      const text = script.textContent;
      if (!text.toLowerCase().includes(escaped)) return;
      for (const part of searched(JSON.parse(text))) {
        if (part?.toLowerCase().includes(needle)) return void found.push(number);
      }
    });
    return found;
  }
}

/** What a search looks through, as the server does. */
function* searched(view) {
  yield* [view.id, view.test, view.title, view.termination_reason];
  for (const turn of view.turns) {
    yield* [turn.text, turn.result, turn.error];
    for (const part of turn.parts ?? []) yield typeof part === "string" ? part : part.text;
    for (const call of turn.tool_calls ?? []) yield* [call.name, call.arguments];
  }
  for (const grade of view.grades) {
    yield* [grade.grader, grade.error?.message];
    for (const statement of grade.statements ?? []) {
      yield* [statement.text, statement.rationale, statement.error?.message];
      for (const citation of statement.citations) yield citation.quote;
    }
    for (const check of grade.checks ?? []) yield* [check.label, check.detail];
  }
}
