"""Optuna 5: studies, sqlite and journal files as observations; an importance evaluator and a sampler."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import optuna

from parzax.adapters.optuna.sampler import TPESampler
from parzax.adapters.optuna.sources import sources
from parzax.adapters.optuna.storage import is_optuna_file, read_study, recorded, study_names
from parzax.adapters.optuna.trials import Target, observations_from_trials
from parzax.observations import Observations

if TYPE_CHECKING:
    from parzax.adapters.optuna.evaluator import (
        CondPedAnovaImportanceEvaluator as CondPedAnovaImportanceEvaluator,
    )

__all__ = [
    "CondPedAnovaImportanceEvaluator", "TPESampler", "is_optuna_file", "observations", "sources",
    "study_names",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Optuna's evaluators load scikit-learn where it is installed: a second that samplers need not wait.
    if name == "CondPedAnovaImportanceEvaluator":
        from parzax.adapters.optuna.evaluator import CondPedAnovaImportanceEvaluator

        return CondPedAnovaImportanceEvaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def observations(
    study: "optuna.Study | str | Path",
    study_name: str | None = None,
    *,
    failed: str = "drop",
    pruned: str | None = None,
    target: Target | None = None,
) -> Observations:
    """Read the trials of an Optuna study.

    Each distribution that a parameter had becomes one of its domains. A parameter with one distribution
    in every row is unconditional; otherwise its domains are `parzax.Recorded`, and the regime of every row
    is what the trial records (inactive where it has no value). Numeric domains seen in one trial each, two
    or more of one kind (whole numbers or not, log, step), are one `parzax.Varying` domain, which moves from
    row to row; the ``bounds`` of the rows are those of the trials.

    Args:
        study: a study, or the path of an sqlite or journal file, which is opened read-only.
        study_name: which study of a file; may be left out where there is only one.
        failed: "drop" keeps COMPLETE trials; "worst" also FAIL and PRUNED ones, ranked last. Running and
            waiting trials are left out.
        pruned: the same for PRUNED trials alone; as ``failed`` if not given. What was pruned is part of what
            the study has tried, so that "worst" compares with all of it.
        target: called with each COMPLETE trial, gives the one objective, which is minimised. By default the
            study's m objectives with their directions.

    Returns:
        `Observations` of n trials and d parameters, in order of first appearance. Constraint values are
        taken over where all complete trials have the same ones. The ``report`` has the number of trials,
        those left out by state, and what was inferred.

    Raises:
        ValueError: no COMPLETE trial, no parameter, a parameter both categorical and numeric; for a file,
            one that is missing, is no Optuna storage, or holds several studies while ``study_name`` is None.
        TypeError: ``study`` is neither a study nor a path, ``target`` is not callable or gives no number.

    Unlike Optuna, choices keep their type (True is not 1), and the same choices in another order are one
    domain; choices of other types than None, bool, int, float and str are known by their repr. Values
    outside their domain (Optuna lets one enqueue them) count as the nearest value inside.

    >>> import optuna, parzax as px
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=20)
    >>> px.adapters.optuna.observations(study)
    Observations(20 rows, 1 parameters, minimize)
    """
    if target is not None and not callable(target):
        raise TypeError(f"target must be a function of a trial, got {target!r}.")
    if isinstance(study, optuna.Study):
        if study_name is not None:
            raise ValueError(f"study_name={study_name!r} chooses within a file; study is a Study already.")
        record = recorded(study)
    elif isinstance(study, (str, Path)):
        record = read_study(study, study_name)
    else:
        raise TypeError(f"study must be an optuna.Study or the path of a file, got {type(study).__name__}.")
    return observations_from_trials(record, failed=failed, pruned=pruned, target=target)
