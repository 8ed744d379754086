"""Optuna studies as source tasks: what was seen in each, by name."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import TrialState

from parzax.adapters.optuna_storage import Recorded, read_studies, recorded, recorded_studies
from parzax.adapters.optuna_trials import observations_from_trials
from parzax.observations import Observations


def sources(studies: Any, *, exclude: str | Iterable[str] = ()) -> dict[str, Observations]:
    """Read several studies, as the sources of `parzax.meta_learn_tpe` or `TPESampler`.

    Args:
        studies: a list of studies, or a dict of them by name, in either of which an `Observations` may take
            the place of a study; or a storage, of which every study is read: the path (or sqlite URL) of an
            sqlite or journal file, which is opened read-only, or a storage object.
        exclude: names to leave out, such as that of the study to come.

    Returns:
        Name -> `Observations` of the complete trials, as `observations` reads them. Studies without any are
        left out, with a warning that names them.

    Raises:
        TypeError: for what is no study.
        ValueError: no study at all, or none with a complete trial; two of one name; trials that cannot be
            read, naming the study; a file that is missing or is no Optuna storage.
    """
    left_out = {exclude} if isinstance(exclude, str) else set(exclude)
    out: dict[str, Observations] = {}
    empty = []
    for name, study in _named(studies, left_out):
        if name in left_out:
            continue
        if name in out or name in empty:
            raise ValueError(f"studies: two are named {name!r}; give a dict, in which names differ.")
        if isinstance(study, Observations):
            out[name] = study
        elif any(trial.state == TrialState.COMPLETE for trial in study.trials):
            try:
                out[name] = observations_from_trials(study.trials, study.directions)
            except ValueError as error:
                raise ValueError(f"studies: {name!r}: {error}") from error
        else:
            empty.append(name)
    if not out:
        reason = f"; without a complete trial: {_quoted(empty)}" if empty else ""
        raise ValueError(f"studies must have at least one study to learn from, got none{reason}.")
    if empty:
        warnings.warn(
            f"left out of the sources, without a complete trial: {_quoted(empty)}", UserWarning, stacklevel=2
        )
    return out


def _named(studies: Any, exclude: set[str]) -> Iterator[tuple[str, Recorded | Observations]]:
    """Names and contents, of a storage those that are not excluded."""
    if isinstance(studies, (str, Path)):
        yield from read_studies(studies, exclude).items()
    elif isinstance(studies, BaseStorage):
        yield from recorded_studies(studies, exclude).items()
    elif isinstance(studies, (optuna.Study, Observations)) or not isinstance(studies, Iterable):
        raise TypeError(
            f"studies must be a list of studies, a dict of them by name, or a storage, got {studies!r}."
        )
    else:
        pairs = studies.items() if isinstance(studies, Mapping) else ((None, study) for study in studies)
        for number, (name, study) in enumerate(pairs, start=1):
            if not isinstance(study, (optuna.Study, Observations)):
                what = f"number {number}" if name is None else repr(name)
                raise TypeError(
                    f"studies: {what} is {study!r}, not an optuna.Study or a parzax.Observations."
                )
            if isinstance(study, Observations):
                yield f"task {number}" if name is None else str(name), study
            else:
                yield study.study_name if name is None else str(name), recorded(study)


def _quoted(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:20]))
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"
