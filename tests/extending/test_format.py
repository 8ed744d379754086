"""A table of a tool that parzax does not know, read by a format that is made here."""

import numpy as np
import pandas as pd

import parzax as px
from parzax.lens.tables import Format


def _summary_columns(columns):
    return [column for column in columns if column.startswith("sum.")]


# This tool writes a setting as "hp:lr", and a row for each epoch of a job.
JOBS = Format("my scheduler", needs=("job", "hp:*"), prefix="hp:", state="ended", trial="job", step="epoch")
# And another one, which has no mark for its settings, but one for all else.
PLANNER = Format("my planner", needs=("sum.*",), others=_summary_columns)


def test_a_format_reads_a_table():
    """Its parameters, the last epoch of each job, and no job that failed."""
    rng = np.random.default_rng(0)
    lr = rng.random(20)
    jobs = np.repeat(np.arange(20), 3)
    epoch, ended = np.tile(np.arange(3), 20), np.where(jobs > 0, "DONE", "ERROR")
    df = pd.DataFrame({"job": jobs, "epoch": epoch, "hp:lr": lr[jobs], "ended": ended})
    df["loss"] = lr[jobs] / (1 + epoch)
    obs = px.Observations.from_dataframe(df, "loss", directions="minimize", format=JOBS, warn=False)
    assert obs.space.names == ("lr",)
    assert obs.report.dropped == {"not the last row of its trial": 38, "state FAIL": 3}
    np.testing.assert_allclose(obs.losses[:, 0], lr[1:] / 3)


def test_a_format_leaves_out_what_it_knows():
    """Columns that a function names; those that nothing speaks against are parameters."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"lr": rng.random(30), "sum.cost": rng.random(30), "sum.gpus": rng.integers(1, 9, 30)})
    obs = px.Observations.from_dataframe(df, "sum.cost", directions="minimize", format=PLANNER, warn=False)
    assert obs.space.names == ("lr",)
    assert "left out, not parameters: the columns 'sum.gpus'" in obs.report.lines()
