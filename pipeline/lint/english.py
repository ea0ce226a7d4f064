"""The English of statements that are hard to decide: for each rule, the words that break it, or None.

Every pattern stands for a form that leaves little doubt; what only might be meant so is left alone. Texts
come with their quotes covered.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from adjudge.pipeline.lint.wording import sentences, words

LONGEST = 40
"""Words of a statement above which it is called long."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.VERBOSE)


_ACTOR = r"""(?:(?:the|an?|this|our)\s+)?(?:\w+\s+){0,2}?
    (?:agent|assistant|bot|chatbot|AI|model|system|representative|it|response|reply|answer)
    (?:'s\s+(?:\w+\s+){0,2}?\w+)?"""
"""Who a statement is about, at its beginning."""

_SUBCLAUSE = _pattern(
    r"""\b(?:that|which|who|whom|whose|whether|if|when|because|since|as|unless|until|before|after|where|what|how
    |between|both|why|so|while|although|though|to)\b"""
)
"""Words after which an `and` may belong to what they begin, or to what they join."""

_LEADING_CLAUSE = _pattern(
    r"\s*(?:if|when|whenever|once|after|before|unless|because|since|while|for)\b[^,;]*,"
)

_JOINED = _pattern(
    r"""(?:,\s*)?\b(?:and|but)\s+
    (?:(?:also|then|instead|only|not|never|therefore|thus|so|immediately)\s+|\w+ly\s+)*
    (?P<subject>(?:(?:the|its|their|his|her)\s+\w+(?:\s+\w+)?|it|they|he|she)\s+)?
    (?P<verb>[\w']+)(?:\s+(?P<next>[\w']+))?"""
)
_AUXILIARY = _pattern(
    r"is|are|was|were|has|had|does|did|doesn't|didn't|isn't|wasn't|will|won't|can't|cannot|never|should|must"
)
_VERB = _pattern(  # third person or past tense, hardly ever a noun
    r"""acknowledges?d? | adds | advises | apologi[sz]e[sd] | asks | asked | assures | books | brings
    | cancels
    | cancelled | chooses | cites | cited | clarifies | clarified | collects | completes | confirms
    | confirmed
    | corrects | creates | created | declines | declined | denies | denied | describes | directs | encourages
    | ensures | escalates | escalated | explains | explained | expresses | follows | gathers | gets
    | got | gives
    | gave | greets | goes | identifies | identified | includes | informs | informed | instructs | invents
    | keeps | kept | leaves | left | locates | makes | made | maintains | mentions | mentioned | modifies
    | notifies | notified | obtains | performs | presents | proceeds | proceeded | provides | provided | puts
    | recommends | recommended | redirects | refuses | refused | rejects | rejected | remains | reminds
    | resolves
    | responds | responded | reveals | revealed | says | said | sends | sent | shares | suggests | suggested
    | summari[sz]e[sd] | takes | took | tells | told | thanks | thanked | verifies | verified | waits | waited
    | warns | warned"""
)
_VERB_OR_NOUN = _pattern(
    r"""answers | calls | changes | charges | checks | handles | lists | moves | offers | offered
    | orders | pays
    | quotes | reads | repeats | replies | reports | requests | requested | returns | returned
    | reviews | schedules
    | shows | states | stated | transfers | transferred | updates | updated | upgrades | upgraded
    | uses | used"""
)
_OBJECT = _pattern(r"the|an?|any|no|all|every|each|its|their|his|her|this|that|whether|them|it|him|to")
_INFINITIVE = _pattern(
    r"""acknowledge | apologi[sz]e | ask | avoid | cancel | cite | clarify | collect | comply | confirm | deny
    | describe | ensure | escalate | explain | gather | greet | identify | include | inform | instruct
    | modify
    | notify | obtain | proceed | provide | recommend | redirect | refuse | remind | respond | say | suggest
    | summari[sz]e | tell | verify"""
)
_MODAL = _pattern(r"\b(?:should|must|will|shall|would|ought|needs?|has|have|expected|required)\b")


def compound(text: str) -> str | None:
    """Two claims: several sentences, clauses parted by a semicolon, predicates joined by `and` or `but`."""
    for pieces in (sentences(text), text.split(";")):
        claims = [piece for piece in pieces if len(words(piece)) > 2]
        if len(claims) > 1:
            return claims[1].strip()
    lead = _LEADING_CLAUSE.match(text)
    start = lead.end() if lead else 0
    for joined in _JOINED.finditer(text, start):
        before = text[start : joined.start()]
        if _SUBCLAUSE.search(before):
            return None
        if words(before) and _is_predicate(joined, before):
            return " ".join(joined[0].lstrip(", ").split())
    return None


def _is_predicate(joined: re.Match[str], before: str) -> bool:
    verb, after = joined["verb"], joined["next"] or ""
    if _AUXILIARY.fullmatch(verb):
        return True
    if _VERB.fullmatch(verb):
        return joined["subject"] is None or not joined["subject"].lower().startswith(
            ("the ", "its ", "their ")
        )
    if _VERB_OR_NOUN.fullmatch(verb):
        return joined["subject"] is None and _OBJECT.fullmatch(after) is not None
    return _INFINITIVE.fullmatch(verb) is not None and _MODAL.search(before) is not None


_NEGATION = r"\b(?:not|never|cannot|can't|don't|doesn't|didn't|won't|isn't|wasn't)"
_DOUBLE_NEGATIVE = _pattern(
    rf"""{_NEGATION}\s+(?:\w+ly\s+|ever\s+)?
        (?: fail(?:s|ed|ing)?\s+to | neglect(?:s|ed|ing)?\s+to | forget(?:s|ting)?\s+to
          | omit(?:s|ted|ting)? | avoid(?:s|ed|ing)? | refrain(?:s|ed|ing)?
          | (?:refus|declin)(?:e|es|ed|ing)\s+to )\b
    | \b(?:never|not)\b[^,;.]*\bwithout\b
    | \bnot\s+(?:un(?:able|aware|clear|willing|known|common|helpful|friendly)
          | in(?:correct|accurate|complete|consistent|appropriate) | im(?:polite|possible|proper))\b
    | \b(?:never|nothing|nobody)\b[^,;.]*\b(?:does|did|is|was)(?:\s+not|n't)\b"""
)
_VAGUE = _pattern(
    r"""\b(?:in|im|un)?(?:appropriate|adequate|sufficient|satisfactory|suitable|reasonable|proper)(?:ly)?\b
        (?!\s+(?:funds|balance|credit|stock|seats|quantity|amount|nouns?|names?)\b)
    | \b(?:satisfactorily|suitably|reasonably|professionally|thorough(?:ly)?|comprehensive(?:ly)?
        |meaningful(?:ly)?)\b
    | \b(?:is|be|are|remains?|stays?|sounds?|seems?)\s+(?:\w+\s+and\s+)?professional\b
    | \bprofessional\s+(?:tone|manner|language|way)\b
    | \b(?:as|if|when|where)\s+(?:needed|necessary|appropriate|applicable|relevant|required)\b(?!\s+by\b)
    | \betc\b\.? | \band\s+so\s+(?:on|forth)\b
    | \b(?:good|bad|nice|great|excellent|poor)\b
        (?!\s*(?:morning|afternoon|evening|night|day|friday|faith|standing|credit|for\b|until\b|condition))
    | \b(?:friendly|user-friendly|helpful|effective(?:ly)?|efficient(?:ly)?|timely|high[- ]quality
        |best\s+practices?        |smoothly|seamless(?:ly)?|nicely)\b
    | \bwell\b(?!\s+(?:as|known)\b)(?<!\bas\ well)"""
)
_UNFALSIFIABLE = _pattern(
    rf"""^\s*{_ACTOR}\s+(?:(?:may|might|could)\b(?!\s+not\b)
        | (?:always\s+)?(?:tries|tried|attempts|attempted|strives|aims|aimed|endeavou?rs|seeks|sought
            |does\s+its\s+best|makes\s+an\s+effort)\s+to\b)
    | \b(?:if|where|when|wherever|whenever)\s+(?:at\s+all\s+)?possible\b
    | \bas\s+(?:much|far|soon|quickly|often|little|briefly)\s+as\s+possible\b
    | \b(?:ideally|preferably|possibly|perhaps|to\s+some\s+(?:extent|degree))\b"""
)
_NORM = _pattern(
    rf"""^\s*(?:(?!{_SUBCLAUSE.pattern})[\w'-]+\s+){{1,6}}?(?:should|must|ought|shall)(?:n't|\s+not)?\b
    | ^\s*{_ACTOR}\s+(?:needs?\s+to|has\s+to|have\s+to|is\s+(?:expected|supposed|required)\s+to)\b"""
)
_HIDDEN_STATE = _pattern(
    rf"""^\s*{_ACTOR}\s+(?:(?:\w+ly|does\s+not|doesn't|should|must)\s+(?:not\s+)?)*
        (?:thinks?|knows?|believes?|understands?|understood|reali[sz]e[sd]?|remembers?|intends?|wants?|feels?
        |assumes?|considers?|notices?|noticed|detects?|detected|recogni[sz]e[sd]?|is\s+aware|cares?|hopes?)\b"""
)
_LEADING = _pattern(
    r"""\b(?:obviously|undoubtedly|of\s+course|needless\s+to\s+say|without\s+(?:a\s+)?doubt|unquestionably)\b
    | ^\s*clearly\b | \b(?:agent|assistant|bot|model|it)\s+clearly\s+(?:fail|violat|ignor|broke)\w*
    | \b(?:answer|reply|respond|say|return|output|mark|rate|score|decide|choose|grade)\s+(?:this\s+|it\s+)?
        (?:as\s+|with\s+)?["'`]?(?:met|not_met|not\s+met|pass(?:ed)?|fail(?:ed)?|true|false|[01]|undetermined)\b
    | \b(?:this|the)\s+statement\s+is\s+(?:met|true|not\s+met|false)\b
    | \b(?:score|rate)\s+(?:\w+\s+){0,3}(?:from|between|on\s+a\s+scale)\b"""
)
_INSTRUCTION = _pattern(
    r"""^\s*(?:please\s+)?(?:check|verify|ensure|evaluate|assess|determine|confirm|judge|rate|score|make\s+sure)
    \s+(?:that|whether|if|how)\b"""
)
_ELSEWHERE = _pattern(
    r"""\bin\s+(?:other|all|previous|earlier|past|most|future)\s+(?:conversations|chats|calls|sessions|runs|tests)\b
    | \b(?:better|worse|faster|slower|shorter|longer|more\s+\w+|less\s+\w+)\s+than\s+(?:the\s+)?
        (?:previous|other|last|old|baseline|reference)\s+(?:version|agent|model|run|response|prompt|reply|answer)\b
    | \bin\s+the\s+(?:database|backend|back\s+end|ledger|server\s+logs?|logs|source\s+code)\b
    | \bafter\s+the\s+(?:conversation|call|chat|session)\s+(?:is\s+over|ends|ended|has\s+ended)\b
    | \bin\s+real(?:ity|\s+life)\b
    | ^\s*(?:the\s+)?(?:database|backend|ledger|log\s+file|server)\s+
        (?:is|was|has|shows|contains|reflects)\b"""
)
_ABSENCE = _pattern(
    rf"""^\s*{_ACTOR}\s+(?:(?:should|must|will|does|did|do|is|has)\s+)?
        (?:never|not|cannot|(?:ca|do|does|did|is|wo)n't|at\s+no\s+(?:point|time)|(?:makes|gives|offers)\s+no)\b
    | ^\s*(?:at\s+no\s+(?:point|time)|nowhere|never|no|none|nothing|nobody)\b"""
)


def is_absence(text: str) -> bool:
    """Whether an English statement says that something does not happen."""
    return _ABSENCE.search(text) is not None


def _elsewhere(text: str) -> str | None:
    match = _ELSEWHERE.search(text)
    if match is None or re.search(r"\b(?:that|whether)\b", text[: match.start()]):
        return None  # what somebody says of it is in the conversation
    return match[0].strip()


def _long(text: str) -> str | None:
    count = len(words(text))
    return f"{count} words" if count > LONGEST else None


def _search(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    def find(text: str) -> str | None:
        match = pattern.search(text)
        return None if match is None else " ".join(match[0].split())

    return find


RULES: dict[str, Callable[[str], str | None]] = {
    "compound": compound,
    "double-negative": _search(_DOUBLE_NEGATIVE),
    "vague": _search(_VAGUE),
    "unfalsifiable": _search(_UNFALSIFIABLE),
    "norm": _search(_NORM),
    "hidden-state": _search(_HIDDEN_STATE),
    "leading": _search(_LEADING),
    "instruction": _search(_INSTRUCTION),
    "elsewhere": _elsewhere,
    "long": _long,
}
"""What finds the words that break a rule in an English text, by the rule's name."""
