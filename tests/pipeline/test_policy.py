"""From counts to an exit code."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.pipeline.grade import CountsRow
from adjudge.pipeline.policy import Facts, decide


@dataclass(frozen=True, kw_only=True)
class Policy:
    max_errored: int | None = None
    min_pass_rate: float | None = None


def counts(facts: Facts, *, informative: int = 0, unreadable: int = 0, incomplete: int = 0) -> CountsRow:
    """Counts of a run with these gating grades and so many grades that don't gate."""
    return {
        "conversations": facts.planned + informative,
        "grades": facts.planned + informative,
        "passed": facts.passed,
        "failed": facts.failed + informative,
        "errored": facts.errored,
        "missing": facts.missing,
        "not_requested": 0,
        "not_gradable": facts.not_gradable,
        "unreadable": unreadable,
        "evidence_incomplete": incomplete,
    }


def code(
    facts: Facts,
    policy: Policy | None = None,
    *,
    informative: int = 0,
    unreadable: int = 0,
    incomplete: int = 0,
) -> int:
    row = counts(facts, informative=informative, unreadable=unreadable, incomplete=incomplete)
    return decide(row, facts, policy or Policy())[1]


def test_a_run_whose_gating_grades_all_passed_meets_the_policy() -> None:
    row, exit_code = decide(counts(Facts(passed=3)), Facts(passed=3), Policy())

    assert (row, exit_code) == (
        {"name": "all_passed", "result": "met", "reasons": ["3 of 3 gating grades passed"]},
        0,
    )


def test_a_failure_outranks_an_error_and_both_are_counted() -> None:
    facts = Facts(passed=6, failed=2, errored=1, missing=1)
    row, exit_code = decide(counts(facts), facts, Policy())

    assert (row["result"], exit_code) == ("not_met", 1)
    assert row["reasons"] == [
        "6 of 10 gating grades passed",
        "2 of 10 gating grades failed",
        "1 of 10 gating grades errored",
        "1 of 10 gating grades is missing",
    ]


@pytest.mark.parametrize(
    "facts",
    [
        Facts(passed=9, errored=1),
        Facts(passed=9, missing=1),
        Facts(passed=9, not_gradable=1),
        Facts(passed=9, budget_exhausted=1),
        Facts(errored=9),
    ],
)
def test_a_run_in_which_something_was_not_judged_is_undecided(facts: Facts) -> None:
    assert code(facts) == 3


def test_evidence_flagged_incomplete_leaves_a_run_undecided() -> None:
    assert code(Facts(passed=1), incomplete=1) == 3


@pytest.mark.parametrize(
    "policy", [Policy(), Policy(max_errored=99), Policy(min_pass_rate=0.0, max_errored=99)]
)
def test_an_unreadable_record_is_never_tolerated(policy: Policy) -> None:
    assert code(Facts(passed=5), policy, unreadable=1) == 3


@pytest.mark.parametrize(
    "policy", [Policy(), Policy(max_errored=99), Policy(min_pass_rate=0.0, max_errored=99)]
)
def test_an_unreliable_judge_is_never_tolerated_and_no_failure_is_hidden_by_it(policy: Policy) -> None:
    facts = Facts(passed=5, unreliable=("judge 'main' says met of 'x', which is not_met",))
    row, exit_code = decide(counts(facts), facts, policy)

    assert exit_code == 3
    assert "judge_unreliable: judge 'main' says met of 'x', which is not_met" in row["reasons"]
    assert code(Facts(failed=5, unreliable=facts.unreliable)) == 1


def test_a_run_that_planned_no_grade_has_nothing_to_judge() -> None:
    row, exit_code = decide(counts(Facts()), Facts(), Policy())

    assert (row["result"], exit_code) == ("undecided", 5)


def test_a_run_of_which_no_record_could_be_read_is_undecided_rather_than_empty() -> None:
    assert code(Facts(), unreadable=2) == 3


def test_a_grader_that_does_not_gate_can_not_fail_a_run() -> None:
    row, exit_code = decide(counts(Facts(), informative=4), Facts(), Policy())

    assert (row["reasons"], exit_code) == (["no gating grade was planned, so none can fail"], 0)


@pytest.mark.parametrize(("errored", "expected"), [(2, 0), (3, 3)])
def test_max_errored_tolerates_so_many_grades_without_a_result(errored: int, expected: int) -> None:
    assert code(Facts(passed=9, errored=errored), Policy(max_errored=2)) == expected


def test_a_run_of_which_nothing_was_judged_does_not_pass_whatever_is_tolerated() -> None:
    assert code(Facts(errored=5), Policy(max_errored=5)) == 3


def test_max_errored_tolerates_no_failure() -> None:
    assert code(Facts(passed=9, failed=1), Policy(max_errored=5)) == 1


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Facts(passed=7, failed=3), 0),  # 0.7 is 7/10, exactly
        (Facts(passed=6, failed=4), 1),
        (Facts(passed=6, failed=3, errored=1), 3),  # between 0.6 and 0.7
        (Facts(passed=7, failed=1, errored=1, missing=1), 0),  # 0.7 at the least
        (Facts(passed=5, failed=4, errored=1), 1),  # 0.6 at the most
    ],
)
def test_a_pass_rate_is_decided_by_its_bounds_over_all_planned_grades(facts: Facts, expected: int) -> None:
    assert code(facts, Policy(min_pass_rate=0.7)) == expected


def test_a_pass_rate_is_explained_in_whole_grades() -> None:
    facts = Facts(passed=6, failed=3, errored=1)
    row, _ = decide(counts(facts), facts, Policy(min_pass_rate=0.67))

    assert row["name"] == "min_pass_rate"
    assert row["reasons"][0] == (
        "at least 6 and at most 7 of 10 gating grades passed; min_pass_rate 0.67 needs 7"
    )


@pytest.mark.parametrize(("tolerated", "expected"), [(0, 3), (1, 0)])
def test_max_errored_beside_a_pass_rate_must_hold_as_well(tolerated: int, expected: int) -> None:
    policy = Policy(min_pass_rate=0.5, max_errored=tolerated)

    assert code(Facts(passed=9, errored=1), policy) == expected


def test_a_tolerated_error_is_no_pass_in_the_pass_rate() -> None:
    assert code(Facts(passed=8, errored=2), Policy(min_pass_rate=0.9, max_errored=2)) == 3


def test_a_pass_rate_of_0_needs_a_pass() -> None:
    assert code(Facts(failed=2), Policy(min_pass_rate=0.0)) == 1
    assert code(Facts(failed=1, passed=1), Policy(min_pass_rate=0.0)) == 0


few = st.integers(0, 6)
all_facts = st.builds(
    Facts, passed=few, failed=few, errored=few, missing=few, not_gradable=few, budget_exhausted=few
)
policies = st.builds(
    Policy,
    max_errored=st.none() | few,
    min_pass_rate=st.none() | st.integers(0, 20).map(lambda twentieths: twentieths / 20),
)
flags = st.integers(0, 1)
BADNESS = {0: 0, 3: 1, 5: 1, 1: 2}


@settings(deadline=None)
@given(all_facts, policies, flags, flags)
def test_one_more_failure_never_makes_it_better(
    facts: Facts, policy: Policy, unreadable: int, incomplete: int
) -> None:
    before = code(facts, policy, unreadable=unreadable, incomplete=incomplete)
    after = code(
        replace(facts, failed=facts.failed + 1), policy, unreadable=unreadable, incomplete=incomplete
    )

    assert BADNESS[after] >= BADNESS[before]


@settings(deadline=None)
@given(
    all_facts.filter(lambda facts: facts.passed > 0),
    policies,
    st.sampled_from(["failed", "errored", "missing"]),
)
def test_a_pass_turned_into_anything_else_never_makes_it_better(
    facts: Facts, policy: Policy, into: str
) -> None:
    worse = replace(facts, passed=facts.passed - 1, **{into: getattr(facts, into) + 1})

    assert BADNESS[code(worse, policy)] >= BADNESS[code(facts, policy)]


@settings(deadline=None)
@given(all_facts.filter(lambda facts: facts.errored > 0), policies)
def test_an_error_turned_into_a_pass_never_makes_it_worse(facts: Facts, policy: Policy) -> None:
    better = replace(facts, errored=facts.errored - 1, passed=facts.passed + 1)

    assert BADNESS[code(better, policy)] <= BADNESS[code(facts, policy)]


@settings(deadline=None)
@given(all_facts, policies)
def test_a_run_is_met_only_if_every_way_the_unjudged_could_have_come_out_meets_the_rate(
    facts: Facts, policy: Policy
) -> None:
    if policy.min_pass_rate is None or code(facts, policy) == 3:
        return
    unjudged = facts.errored + facts.missing
    outcomes = {
        code(Facts(passed=facts.passed + more, failed=facts.failed + unjudged - more), policy)
        for more in range(unjudged + 1)
    }

    assert outcomes == {code(facts, policy)} or facts.planned == 0


@settings(deadline=None)
@given(all_facts, policies, few)
def test_result_and_exit_code_agree_and_reasons_are_given(
    facts: Facts, policy: Policy, unreadable: int
) -> None:
    row, exit_code = decide(counts(facts, unreadable=unreadable), facts, policy)

    assert row["result"] == {0: "met", 1: "not_met", 3: "undecided", 5: "undecided"}[exit_code]
    assert all(row["reasons"])
    assert row["reasons"]
