"""What the command says of a table from which little or nothing follows, read as a whole."""

import re

import command_line
import numpy as np
import pandas as pd
import pytest
from conftest import QUICK

import parzax as px
from parzax._words import plural
from parzax.lens.cli import main
from parzax.lens.page.content import content
from parzax.status import Status, describe

RNG = np.random.default_rng(0)
LR, DEPTH, LOSS = RNG.uniform(size=40).round(4), RNG.integers(1, 9, 40), RNG.uniform(size=40).round(4)
TABLE = pd.DataFrame({"lr": LR, "depth": DEPTH, "value": LOSS})
NO_DATA = "NO_DATA: Too few usable rows: an importance needs two rows with losses, anything else one row."
ALL_EQUAL = "ALL_EQUAL: All losses are equal, so no level set stands out; check the target column."


pytestmark = pytest.mark.usefixtures("in_tmp_path")


def run(capsys, df, *options):
    """Exit status, the lines on stdout, and stderr."""
    df.to_csv("t.csv", index=False)
    status, out, err = command_line.run(capsys, "importance", "t.csv", "--direction", "minimize", *options)
    return status, out.splitlines(), err


def test_one_row(capsys):
    # Catches six paragraphs of statuses, intervals of nothing, "1 rows" and "more" of what was not listed.
    status, lines, err = run(capsys, TABLE[:1])
    assert (status, err) == (0, "")
    assert lines[0].startswith("Do next: too few usable rows")
    assert lines[1:3] == [
        "What mattered: nothing can be said about the best 50 % (1 of 1 row, smallest value).",
        "How sure: there is nothing to be sure of.",
    ]
    assert lines[-1].startswith("1 row, minimize; ")
    assert lines[-1].endswith("3 things inferred: --verbose lists them")
    assert run(capsys, TABLE[:1], "--verbose")[1][-1] == NO_DATA


@pytest.mark.parametrize(
    ("df", "options", "advice"),
    [
        (TABLE[:2], ["--resamples", "0"], ["LOW_DATA", "ALL_ZERO"]),
        (TABLE.assign(value=0.5), [], ["ALL_EQUAL"]),
        (TABLE.assign(lr=0.1, depth=3), ["--resamples", "0"], ["SINGLE_VALUE", "ALL_ZERO"]),
        (TABLE.assign(value=np.nan), ["--resamples", "0"], ["NO_DATA"]),
    ],
)
def test_nothing_to_compare(capsys, df, options, advice):
    # Catches sentences that follow from another one, and how sure numbers are that do not exist.
    status, lines, _ = run(capsys, df, *options)
    assert status == 0
    text, verbose = "\n".join(lines), run(capsys, df, *options, "--verbose")[1]
    assert [
        line.split(":")[0].split(" ")[0] for line in verbose if re.match("[A-Z_]+( .*)?: ", line)
    ] == advice
    for words in ("interval", "comes first", "search that learns", "--level"):
        assert words not in text
    assert lines[2] == "How sure: there is nothing to be sure of."
    assert not re.search(r"\b1 (rows|parameters|things|levels)\b", text)


def test_a_single_parameter(capsys):
    # Catches an importance of 1 that reads as if the parameter were known to matter.
    df = pd.DataFrame({"lr": LR, "value": LR + 0.5 * LOSS})
    status, lines, _ = run(capsys, df, "--resamples", "0")
    assert status == 0
    assert "a single parameter has an importance of 1, whether it matters or not" in lines[2]


def test_no_rows_and_no_file(capsys, tmp_path):
    # Catches a table of zeros for a file that holds nothing.
    assert run(capsys, TABLE[:0])[0] == 2
    (tmp_path / "empty.csv").write_text("")
    assert main(["importance", "empty.csv"]) == 2
    assert capsys.readouterr().err == "parzax: error: 'empty.csv' is empty.\n"


def test_causes_stand_for_their_consequences():
    # Catches advice on a level lost because another one has a cause of it.
    everything = int(Status.NO_DATA | Status.SAME_SETS | Status.LOW_DATA | Status.ALL_ZERO)
    assert describe(everything) == [NO_DATA]
    assert describe(int(Status.ALL_EQUAL | Status.SAME_SETS | Status.TIED_CUTOFF)) == [ALL_EQUAL]
    told = describe(np.array([everything, int(Status.LOW_DATA)]))
    assert [line.split(":")[0] for line in told] == ["NO_DATA", "LOW_DATA"]
    # A sampler's statuses stay beside each other.
    assert len(describe(int(Status.NO_DATA | Status.UNMEASURED | Status.NONE_FEASIBLE))) == 3


def test_counts_with_their_nouns():
    assert [plural(n, "row") for n in (0, 1, 2, "1", "28-31")] == [
        "0 rows", "1 row", "2 rows", "1 row", "28-31 rows",
    ]  # fmt: skip


@pytest.mark.slow
def test_pages_and_comparisons_of_single_rows():
    # Catches "every parameter that could be compared is above chance" where none was, and importances of 0.
    space = px.Space({"lr": px.Float(0, 1), "depth": px.Int(1, 9)})
    logs = [px.Observations.from_arrays(space, TABLE[["lr", "depth"]][i : i + 1], [0.5]) for i in (0, 1)]
    data = content(px.cond_ped_anova(logs[0], **QUICK), None, 10)["data"]
    assert data["sentences"][0][1].startswith("What mattered: nothing can be said about the best 50 %")
    assert data["level_labels"] == ["the best 50 % (1 of 1 row, smallest loss), γ′ = 0.5"]
    text = str(px.compare(logs[0], logs[1], n_resamples=0, **QUICK))
    assert "nothing can be said about the best 50 %" in text
    assert text.splitlines()[5].split() == ["lr", "-", "-", "-"]
