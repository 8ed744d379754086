"""Ray Tune: ``ResultGrid.get_dataframe()``, and the ``result.json`` or ``progress.csv`` of each trial."""

from dataclasses import replace

from parzax.lens.tables.formats.format import Format

# Results are all but the configuration and what Ray itself reports.
_RESULTS = (
    r"(?!config/|info/|perf/|timers/|counters/|(?:time|timesteps|episodes|iterations)_|num_"
    r"|(?:timestamp|pid|should_checkpoint|done|experiment_tag)$).*"
)
RAY = Format(
    "Ray Tune",
    needs=("config/*", "trial_id|training_iteration|time_total_s"),
    prefix="config/",
    results=_RESULTS,
    state="trial_status",
    trial="trial_id",
    step="training_iteration",
    file="result.json",
)
# A progress table lacks the configuration; a second file in the same folder has it.
RAY_PROGRESS = replace(RAY, file="progress.csv", beside="params.json")
