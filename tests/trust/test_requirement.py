"""What is asked of a judge, read and decided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.trust.agreement import Part
from adjudge.pipeline.trust.requirement import FIGURES, Requirement, exit_code


@given(st.sampled_from(FIGURES), st.integers(-100, 100))
def test_a_requirement_reads_back_as_it_is_written(figure: str, hundredths: int) -> None:
    written = Requirement(figure=figure, least=hundredths / 100)

    assert Requirement.parse(str(written)) == written


@pytest.mark.parametrize(
    "text", ["", "kappa", "kappa>0.6", "kappa<=0.6", "kapa>=0.6", "kappa>=2", "kappa>=-1.1", "kappa>=x"]
)
def test_what_is_no_requirement_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"requirement|never"):
        Requirement.parse(text)


def test_every_figure_can_be_required() -> None:
    assert set(FIGURES) == set(Part().figures(0.95))


def test_what_is_not_met_outranks_what_cant_be_told() -> None:
    assert exit_code([]) == exit_code([True]) == 0
    assert exit_code([True, None]) == 3
    assert exit_code([None, False]) == 1


def test_without_an_interval_nothing_is_met() -> None:
    assert Requirement.parse("kappa>=-1").met(None) is None
