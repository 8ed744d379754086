"""What notebooks show of observations and results, and the text of an estimator."""

from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import QUICK

import parzax as px

NAME = "<b>&'\"x\x1b[2J"
SPACE = px.Space({"c": px.Categorical(["<i>", "b"]), NAME: px.Float(0, 1, when=px.In("c", ["b"]))})
RNG = np.random.default_rng(0)
CHOICE = RNG.integers(0, 2, (3, 80))
VALUES = np.stack([CHOICE, np.where(CHOICE == 1, RNG.uniform(size=(3, 80)), np.nan)], axis=-1)
OBS = px.Observations.from_arrays(SPACE, VALUES, np.nan_to_num(VALUES[..., 1]) + CHOICE)


def cells(html: str) -> list[list[str]]:
    """The text of a table's cells; raises for what is not well-formed."""
    root = ElementTree.fromstring(f"<div>{html}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


@pytest.mark.parametrize("level", [pytest.param([0.2], marks=pytest.mark.slow), [0.2, 0.5]])
def test_results(level):
    """The entries of the text, escaped; catches a name that is markup, and one that moves a cursor."""
    result = px.cond_ped_anova(OBS, level, **QUICK, n_resamples=0)
    table = cells(result._repr_html_())
    shown = [cell for row in table for cell in row]
    assert "<b>&'\"x\\x1b[2J" in shown
    for row in table:
        for cell in row:
            assert cell in str(result)


def test_observations():
    """One row per parameter."""
    table = cells(OBS._repr_html_())
    assert [row[0] for row in table[1:]] == ["c", "<b>&'\"x\\x1b[2J"]
    assert table[1][1] == "240"
    assert table[2][1] == str(int((VALUES[..., 0] == 1).sum()))
    assert float(table[2][2]) == pytest.approx(VALUES[..., 1][VALUES[..., 0] == 1].min(), rel=1e-3)


def test_estimators_say_what_they_are():
    """One line, whatever the arrays hold."""
    pe = px.ParzenEstimator.fit(px.Space({"x": px.Float(0, 1)}), np.array([[0.1], [0.4]]))
    assert repr(pe) == "ParzenEstimator(x; room for 64 rows)"
