"""What people say of a run's statements: read from a file of labels, and added to it by one reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from adjudge.pipeline.trust.labels import Label, append_label, read_labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A statement that can be labelled.

    Attributes:
        conversation_id: the conversation it is about.
        evidence: digest of what the judge was shown.
        grader: whose statement it is.
        statement: its text.
    """

    conversation_id: str
    evidence: str
    grader: str
    statement: str


class Labelling:
    """A file of labels and the reviewer who adds to it. What others add meanwhile is seen, too."""

    def __init__(self, path: Path, reviewer: str, *, blind: bool) -> None:
        """Read the file, if there is one.

        Raises:
            UsageError: naming file and line, if it is no file of labels.
        """
        self.path, self.reviewer, self.blind = path, reviewer, blind
        self._lock = Lock()
        self._seen: tuple[int, int] | None = None
        self._by_evidence: dict[str, list[Label]] = {}
        self._by_conversation: dict[str, list[Label]] = {}
        self.read()

    def read(self) -> None:
        """Read the file again where it has changed.

        Raises:
            UsageError: naming file and line, if it is no file of labels.
        """
        with self._lock:
            if not self.path.exists():
                return
            stat = self.path.stat()
            if self._seen == (stat.st_mtime_ns, stat.st_size):
                return
            by_evidence: dict[str, list[Label]] = {}
            by_conversation: dict[str, list[Label]] = {}
            for label in read_labels([self.path]):
                if label.evidence is None:
                    by_conversation.setdefault(label.conversation_id, []).append(label)
                else:
                    by_evidence.setdefault(label.evidence, []).append(label)
            self._by_evidence, self._by_conversation = by_evidence, by_conversation
            self._seen = stat.st_mtime_ns, stat.st_size

    @property
    def conversations(self) -> set[str]:
        """The ids of the conversations that somebody has labelled."""
        every = (*self._by_evidence.values(), *self._by_conversation.values())
        return {label.conversation_id for labels in every for label in labels}

    @property
    def evidence(self) -> set[str]:
        """The digests of the evidence that somebody has labelled."""
        return set(self._by_evidence)

    def said(self, place: Place) -> list[Label]:
        """What each person last said of a statement.

        A label that knows its evidence speaks of that evidence, in whatever run; another of its conversation.
        """
        near = (
            *self._by_conversation.get(place.conversation_id, ()),
            *self._by_evidence.get(place.evidence, ()),
        )
        last = {
            label.reviewer: label
            for label in near
            if label.statement == place.statement and label.grader in (None, place.grader)
        }
        return list(last.values())

    def mine(self, place: Place) -> Label | None:
        """What the reviewer last said of a statement."""
        return next((label for label in self.said(place) if label.reviewer == self.reviewer), None)

    def add(self, place: Place, label: str, note: str, *, ambiguous: bool) -> None:
        """Write a label to the file; it is on disk when this returns.

        It counts as blind where the reviewer had never labelled the statement, and so not seen its verdict.

        Args:
            place: what it is about.
            label: `met`, `not_met` or `undecidable`.
            note: why, in the reviewer's words; may be empty.
            ambiguous: whether another grader of the conversation has the same statement.

        Raises:
            ValidationError: it is no such label.
            StorageError: it can't be written.
        """
        new = Label.model_validate(
            {
                "conversation_id": place.conversation_id,
                "statement": place.statement,
                "label": label,
                "grader": place.grader if ambiguous else None,
                "evidence": place.evidence,
                "reviewer": self.reviewer,
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "note": note,
                "blind": self.blind and self.mine(place) is None,
            }
        )
        append_label(self.path, new)
        self.read()
