"""`parzax.report`: write a page from observations or from a result."""

import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax.lens._files import can_write_in
from parzax.lens.logs import Observations
from parzax.lens.page.content import content
from parzax.lens.page.pairs import PAIRED
from parzax.lens.results import ImportanceResult, InteractionResult, cond_ped_anova
from parzax.lens.results import interactions as pairs_of
from parzax.lens.results.ped_anova import choose_task
from parzax.lens.results.resampling import choose_counts

MAX_PARAMETERS = 40
# Options of `cond_ped_anova` on which its choice of the default level depends.
_CHOICES = ("rows", "estimator", "objective", "selection", "ties")
_LEVELS = np.arange(1, 50) / 50
# The level for which pairs are computed besides the usual level.
_PAIR_LEVEL = 0.5


def report(
    source: Observations | ImportanceResult,
    path: str | Path,
    *,
    target_quantile: Any = None,
    title: str | None = None,
    interactions: Any = True,
    max_parameters: int = MAX_PARAMETERS,
    command: str | None = None,
    date: str | None = None,
    **options: Any,
) -> None:
    """Write a page about the importance of every parameter: one HTML file that opens without a network.

    The page says which parameters matter at which level (one slider sets the level of all pictures and
    tables), how sure this is, which values are good in each regime, which pairs interact, which parameters
    are not above chance, what limits the answer, how the log was read, and which versions and settings made
    the page. Equal arguments give equal files.

    With several seeds an interval is one standard error to either side of the mean over the seeds that have
    an importance. With one seed the intervals are those of ``result.uncertainty``, if it is there.
    Observations of a single run are resampled unless ``options`` say otherwise.

    Args:
        source: the log, or a result of `cond_ped_anova` or `ped_anova`.
        path: where the file is written; an existing file is replaced.
        target_quantile: levels, for observations. The default is 0.02 to 0.98 in steps of 0.02, as far as
            they are below the region's, and the level that `cond_ped_anova` chooses by default. A page with
            one level has no slider.
        title: what the page is about, such as the name of the log's file.
        interactions: a result of `parzax.interactions` for the same log. For observations also True: the
            page then shows the pairs of the eight most important parameters, at the level at which it opens
            and at the level nearest to 0.5. None or False shows no pairs.
        max_parameters: number of parameters shown: those with the highest importance at any level.
        command, date: texts that say what made the page, and when; they are shown unchanged.
        options: further arguments of `cond_ped_anova`, for observations. By default a single run has 500
            resamples (fewer, or none, if the log is large), and at least 1000 shuffles; many parameters need
            more.

    Raises:
        TypeError: a source or interactions of another kind; ``target_quantile`` or ``options`` together
            with a result.
        ValueError: as in `cond_ped_anova`; also if the path cannot be written, which is tried first.
        ImportError: without plotly or jinja2 (the extra ``parzax[report]``).
    """
    # imported first: its error says what to install, before any work is done
    from parzax.lens.page.rendering import render

    most = _checks.whole_number("max_parameters", max_parameters, 1)
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"path: there is no folder {str(path.parent)!r}; make it first.")
    writable = os.access(path, os.W_OK) if path.exists() else can_write_in(path.parent)
    if path.is_dir() or not writable:
        reason = "it is a folder" if path.is_dir() else "permission denied"
        raise ValueError(f"path: cannot write {str(path)!r}: {reason}.")
    result = compute_result(source, target_quantile, options)
    if isinstance(interactions, bool):
        interactions = compute_interactions(source, result, options) if interactions else None
    wanted = "a parzax.InteractionResult, True or False"
    _checks.instance("interactions", interactions, (InteractionResult, type(None)), wanted)
    html = render(content(result, interactions, most, title, command, date))
    path.write_text(html, encoding="utf-8", newline="\n")


def compute_result(source: Any, target_quantile: Any, options: dict[str, Any]) -> ImportanceResult:
    """The importances of a page, by the arguments of `report`."""
    if isinstance(source, ImportanceResult):
        if given := [*(["target_quantile"] if target_quantile is not None else []), *options]:
            raise TypeError(f"{given[0]} goes with observations: this result was computed already.")
        return source
    wanted = "parzax.Observations or a parzax.ImportanceResult"
    _checks.instance("the source of a report", source, Observations, wanted)
    if target_quantile is None:
        region = _checks.quantile("region_quantile", options.get("region_quantile", 1.0))
        # The levels include the one that the command line and `cond_ped_anova` choose.
        chosen = choose_task(source, region, **{k: options[k] for k in _CHOICES if k in options}).target
        target_quantile = np.union1d(_LEVELS[max(region, 2 * _LEVELS[0]) > _LEVELS], chosen)
    given = {name: value for name, value in options.items() if value is not None}
    options = choose_counts(source, given.get("n_resamples")) | given
    return cond_ped_anova(source, target_quantile, **options)


def compute_interactions(source: Any, result: ImportanceResult, options: dict[str, Any]) -> Any:
    """Interactions of the most important parameters, if the log is ranked by a single objective."""
    if not isinstance(source, Observations) or options.get("selection", "objective") != "objective":
        return None
    mean = result.over_seeds()[0].max(axis=0)
    names = [result.names[j] for j in np.sort(np.argsort(-mean, kind="stable")[:PAIRED]) if mean[j] > 0]
    if len(names) < 2:
        return None
    levels = result.target_quantile
    near = levels[[result.usual_level, np.abs(levels - _PAIR_LEVEL).argmin()]].tolist()
    shared = {name: options[name] for name in ("objective", "rows") if name in options}
    shared["pairs"] = list(combinations(names, 2))
    return pairs_of(source, list(dict.fromkeys(near)), result.region_quantile, **shared)
