"""Syne Tune's ``results.csv``: a row for each report of a trial, with its configuration."""

from parzax.lens.tables.formats.format import Format

SYNE_TUNE = Format(
    "Syne Tune",
    needs=("config_*", "st_*", "trial_id"),
    prefix="config_",
    results="(?!st_).*",
    # st_status is the state of the trial when it reported, not how it ended.
    state="",
    trial="trial_id",
    step="st_worker_iter",
)
