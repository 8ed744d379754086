"""Ray Tune: ``ResultGrid.get_dataframe()``, and the ``result.json`` or ``progress.csv`` of each trial."""

from dataclasses import replace

from parzax.tables.formats.format import Format

RAY = Format(
    "Ray Tune",
    needs=("config/*", "trial_id|training_iteration|time_total_s"),
    prefix="config/",
    state="trial_status",
    trial="trial_id",
    step="training_iteration",
    file="result.json",
)
# A progress table lacks the configuration; a second file in the same folder has it.
RAY_PROGRESS = replace(RAY, file="progress.csv", beside="params.json")
