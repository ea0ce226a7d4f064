"""The shape of a suite file, key by key (spec section 6)."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from adjudge.judges.media import MediaKind
from adjudge.judges.request import Calls, Output
from adjudge.pipeline.conversation import Overflow, StatementSpec
from adjudge.pipeline.plain import kind_of
from adjudge.pipeline.trust.requirement import Requirement


class _Spec(BaseModel):
    # Built when first used: most commands use few of these models, and a nested one is built but once.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _one_line(text: str) -> str:
    if text != text.strip() or not text.isprintable():
        raise ValueError(f"must be one line without blanks around it, not {text!r}")
    return text


def _variable(text: str) -> str:
    if not re.fullmatch("[A-Z_][A-Z0-9_]*", text):  # not shown: it may be the secret itself
        raise ValueError("must be the name of an environment variable, such as MY_API_KEY, not what it holds")
    return text


def _sentence(value: object) -> object:
    """A bare sentence as a statement with flags. YAML takes `- Agent says: yes` for a mapping: say so."""
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, dict):
        raise ValueError(f"must be a sentence, not {kind_of(value)}")  # noqa: TRY004 - pydantic's way
    if len(value) == 1 and "text" not in value:  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError("is a mapping because of its ': '; put the whole sentence in quotes")
    return value  # pyright: ignore[reportUnknownVariableType]


def _worded(statement: StatementSpec) -> StatementSpec:
    _not_blank(statement.text)
    return statement


def _named_path(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


def _requirement(text: str) -> str:
    Requirement.parse(text)
    return text


Text = Annotated[str, AfterValidator(_not_blank)]
Name = Annotated[str, AfterValidator(_not_blank), AfterValidator(_one_line)]
Variable = Annotated[str, AfterValidator(_variable)]
Statement = Annotated[
    StatementSpec,
    BeforeValidator(_sentence, json_schema_input_type=str | StatementSpec),
    AfterValidator(_worded),
]
Threshold = Annotated[float, Field(ge=0, le=1)]


class ConversationFiles(_Spec):
    """Files with conversations to grade."""

    path: Annotated[Name, Field(description="A file or a glob, relative to the suite file.")]
    format: Annotated[
        Name, Field(description="How the files are written; auto looks at each file's content.")
    ] = "auto"


class Price(_Spec):
    """What a model costs, in US dollars per million tokens. Needed for models litellm has no price for."""

    input: Annotated[float, Field(ge=0, description="Per million prompt tokens.")]
    output: Annotated[float, Field(ge=0, description="Per million completion tokens.")]
    cached_input: Annotated[
        float | None, Field(ge=0, description="Per million prompt tokens served from the provider's cache.")
    ] = None


class Canary(_Spec):
    """A statement whose answer is known, to see whether a judge can be relied on."""

    statement: Annotated[Text, Field(description="Something that is true, or false, of any conversation.")]
    expect: Annotated[Literal["met", "not_met"], Field(description="What a judge must say of it.")]


class JudgeSpec(_Spec):
    """A model that says whether statements hold."""

    model: Annotated[Name, Field(description="Any litellm model name, such as openai/gpt-5-mini.")]
    api_base: Annotated[
        Name | None, Field(description="Address of the server; null is the provider's own.")
    ] = None
    api_key_env: Annotated[
        Variable | None,
        Field(description="Environment variable that holds the key; null is the provider's usual one."),
    ] = None
    headers_env: Annotated[
        dict[Name, Variable],
        Field(description="Headers to add, and the environment variables that hold their values."),
    ] = Field(default_factory=dict[str, str])
    params: Annotated[
        dict[str, JsonValue], Field(description="Sent to the model as they are: temperature, max_tokens, ...")
    ] = Field(default_factory=dict[str, JsonValue])
    output: Annotated[
        Output, Field(description="How the reply is asked for; auto finds the strictest that works.")
    ] = "auto"
    window: Annotated[
        int | None,
        Field(ge=1, description="Tokens it reads at once, the reply's included; null: as litellm lists it."),
    ] = None
    media: Annotated[
        list[MediaKind] | None,
        Field(description="What it takes beside text (`evidence.media: pass`); null: as litellm lists it."),
    ] = None
    served_model: Annotated[
        Literal["warn", "require"],
        Field(
            description="What becomes of an answer that another model gave: warn says so at the end of the "
            "run, require takes it for an error (not_found)."
        ),
    ] = "warn"
    attempts: Annotated[int, Field(ge=1, le=10, description="Requests made for one verdict at most.")] = 4
    attempt_timeout: Annotated[float, Field(gt=0, description="Seconds for one whole attempt.")] = 60
    deadline: Annotated[
        float, Field(gt=0, description="Seconds for one verdict with its retries and waits.")
    ] = 300
    max_concurrency: Annotated[int, Field(ge=1, description="Requests in flight at once, at most.")] = 32
    prefix_cache: Annotated[
        Literal["auto", "off"],
        Field(
            description="auto: where the provider reads again at a lower price, one statement "
            "about a long conversation goes ahead of the others."
        ),
    ] = "auto"
    price: Annotated[Price | None, Field(description="Prices to use in place of litellm's.")] = None
    canary: Annotated[
        list[Canary],
        Field(
            description="Asked of the first conversation it judges. A wrong answer enters no score, but "
            "leaves the run undecided: judge_unreliable."
        ),
    ] = Field(default_factory=list[Canary])
    admitted_by: Annotated[
        Name | None,
        Field(
            description="What `adjudge agreement --write` wrote. Where it falls short of `admitted_if`, or "
            "the judge is another one now, the run is undecided: judge_not_admitted."
        ),
    ] = None
    admitted_if: Annotated[
        list[Annotated[str, AfterValidator(_requirement)]],
        Field(min_length=1, description="What the lower ends of its agreement with people must reach."),
    ] = Field(default_factory=lambda: ["kappa>=0.6"])


class _Grader(_Spec):
    name: Annotated[Name, Field(description="Unique within the suite.")]
    threshold: Annotated[
        Threshold, Field(description="The score that passes, from 0 to 1, compared exactly.")
    ] = 1.0
    gating: Annotated[bool, Field(description="Whether a failed grade fails the run.")] = True


class StatementsGrader(_Grader):
    """Asks judges whether statements are true of a conversation; the score is the part that is."""

    type: Literal["statements"]
    judge: Annotated[Name | None, Field(description="Name of the judge; this or a jury.")] = None
    jury: Annotated[
        list[Name] | None,
        Field(min_length=1, description="Names of several judges, who decide by strict majority."),
    ] = None
    samples: Annotated[int, Field(ge=1, description="Times each judge is asked; the majority decides.")] = 1
    calls: Annotated[
        Calls, Field(description="One call for each statement, or one for all of the grader's.")
    ] = "per_statement"
    undetermined: Annotated[
        Literal["errored", "not_met"], Field(description="What an undecided statement counts as.")
    ] = "errored"
    citations: Annotated[
        Literal["verify", "require"],
        Field(description="Mark quotes that can't be found, or refuse the reply."),
    ] = "verify"
    overflow: Annotated[
        Overflow,
        Field(
            description="What becomes of a conversation longer than a judge's window: errored, or judged "
            "window by window where a statement's over_windows says how they decide it."
        ),
    ] = "errored"
    prompt: Annotated[Name | None, Field(description="A prompt file; null is the built-in prompt.")] = None
    statements: Annotated[
        list[Statement] | None,
        Field(description="What must be true. Leave it out where tests or conversations bring their own."),
    ] = None

    @property
    def judges(self) -> list[str]:
        """Names of the judges it asks: its jury, or its one judge."""
        return self.jury or [self.judge or ""]


class ChecksGrader(_Grader):
    """Runs a Python function over a conversation; the score is the part of its checks that pass."""

    type: Literal["checks"]
    verifier: Annotated[Name, Field(description="file.py:function, relative to the suite file.")]


GraderSpec = Annotated[StatementsGrader | ChecksGrader, Field(discriminator="type")]


class Scenario(_Spec):
    """What is special about one test: the scenario that conversations name in their `test`."""

    title: Annotated[Name | None, Field(description="Shown in reports beside the test's name.")] = None
    statements: Annotated[dict[str, list[Statement]], Field(description="Further statements, by grader.")] = (
        Field(default_factory=dict[str, list[StatementSpec]])
    )
    graders: Annotated[
        list[Name] | None, Field(description="The graders that apply; left out: all; []: none.")
    ] = None


class Policy(_Spec):
    """What must hold for exit code 0."""

    require: Annotated[Literal["all_passed"], Field(description="Every gating grade passes.")] = "all_passed"
    max_errored: Annotated[int | None, Field(ge=0, description="Grades that may stay without a score.")] = (
        None
    )
    min_pass_rate: Annotated[
        Threshold | None, Field(description="Part of all planned grades that must pass, in place of all.")
    ] = None


class Budget(_Spec):
    """Hard caps. Calls in flight finish; the rest is errored."""

    max_calls: Annotated[int | None, Field(ge=0, description="Requests to models.")] = None
    max_cost_usd: Annotated[float | None, Field(ge=0, description="US dollars.")] = None


class EvidenceSpec(_Spec):
    """What of a conversation judges are shown."""

    tool_results: Annotated[
        Literal["full", "none"] | Annotated[int, Field(ge=1)],
        Field(description="full, none, or how many characters of each result."),
    ] = "full"
    system_prompt: Annotated[bool, Field(description="Whether system and developer turns are shown.")] = True
    timestamps: Annotated[bool, Field(description="Whether turns show their time.")] = True
    metadata: Annotated[list[Name], Field(description="Names of metadata fields to show.")] = Field(
        default_factory=list[str]
    )
    media: Annotated[
        Literal["placeholders", "pass"],
        Field(
            description="Images, audio and files: only named, or passed to judges that take them, where "
            "their data stands in the conversation. Addresses are never fetched."
        ),
    ] = "placeholders"
    reasoning: Annotated[
        Literal["none", "visible"],
        Field(
            description="What the agent thought, where it is recorded in words: not shown, or shown as parts "
            "of their own."
        ),
    ] = "none"


ConversationEntry = Annotated[
    ConversationFiles, BeforeValidator(_named_path, json_schema_input_type=str | ConversationFiles)
]


class SuiteFile(_Spec):
    """A suite: conversations, judges, graders and the policy of a run."""

    name: Annotated[Name, Field(description="Names the suite in reports; left out: the file's name.")]
    conversations: Annotated[list[ConversationEntry], Field(description="What is graded.")] = Field(
        default_factory=list[ConversationFiles]
    )
    judges: Annotated[dict[Name, JudgeSpec], Field(description="Judges by name.")] = Field(
        default_factory=dict[str, JudgeSpec]
    )
    graders: Annotated[list[GraderSpec], Field(min_length=1, description="What grades each conversation.")]
    tests: Annotated[dict[Name, Scenario], Field(description="Scenarios by name.")] = Field(
        default_factory=dict[str, Scenario]
    )
    policy: Annotated[Policy, Field(description="The rule that turns a run into an exit code.")] = Policy()
    budget: Annotated[Budget, Field(description="Hard caps.")] = Budget()
    evidence: Annotated[EvidenceSpec, Field(description="What judges are shown.")] = EvidenceSpec()
    recorded: Annotated[
        list[Name],
        Field(description="Files of verdicts (`adjudge cache export`), consulted before the cache."),
    ] = Field(default_factory=list[str])
    labels: Annotated[
        list[Name],
        Field(description="Files of people's labels; a run says how often judge and people agree."),
    ] = Field(default_factory=list[str])
