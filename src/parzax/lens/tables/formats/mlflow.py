"""MLflow's ``search_runs()``, and the CSV file that its user interface offers."""

from parzax.lens.tables.formats.format import Format

MLFLOW = Format(
    "MLflow",
    needs=("params.*", "params.*|metrics.*|run_id|status"),
    prefix="params.",
    results=r"metrics\.(?!system/).*",
    state="status",
    trial="run_id",
    parent="tags.mlflow.parentRunId",
    # Optuna's MLflow callback writes the direction into this column.
    directions={"metrics.value": "tags.direction"},
)
# In this file parameters have no mark, and the metrics follow them.
MLFLOW_PAGE = Format(
    "MLflow's user interface",
    needs=("Run ID", "Status", "Source Type|Source Name|Start Time"),
    others=r"Start Time|Duration|Run ID|Name|Source Type|Source Name|User|Status|Experiment ID|Models|Version"
    r"|tags\..*|metrics\..*",
    results_last=True,
    state="Status",
    trial="Run ID",
    parent="tags.mlflow.parentRunId",
)
