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
from parzax.lens.results import ImportanceResult, InteractionResult, cond_ped_anova
from parzax.lens.results import interactions as pairs_of
from parzax.lens.results.analysis import candidate_levels
from parzax.lens.results.targets import counted_rows

MAX_PARAMETERS = 40
# Parameters whose pairs are computed by default, and the level of pairs besides the usual one.
_PAIRED, _PAIR_LEVEL = 8, 0.5


def report(
    source: Observations | ImportanceResult,
    path: str | Path = "report.html",
    *,
    levels: Any = None,
    title: str | None = None,
    interactions: Any = True,
    command: str | None = None,
    date: str | None = None,
    **options: Any,
) -> ImportanceResult:
    """Write a page about the importance of every parameter: one HTML file that opens without a network.

    The page says what mattered, how sure this is and what to do next, at every level (one slider sets the
    level of all pictures and tables), which values are good, which pairs interact, what limits the answer,
    how the log was read, and which versions and settings made the page. Of more than 40 parameters it shows
    those with the highest importance at any level. Equal arguments give equal files.

    With several seeds an interval is one standard error to either side of the mean over the seeds that have
    an importance. With one seed the intervals are ``result.importance_interval``.

    Args:
        source: the log, or a result of `cond_ped_anova`.
        path: where the file is written, report.html by default; an existing file is replaced.
        levels: levels, for observations. The default is 0.02 to 0.98 in steps of 0.02, as far as
            they are below the region's, and the level that `cond_ped_anova` chooses by default. A page with
            one level has no slider.
        title: what the page is about, such as the name of the log's file.
        interactions: a result of `parzax.interactions` for the same log. For observations also True: the
            page then shows the pairs of the eight most important parameters, at the level at which it opens
            and at the level nearest to 0.5. None or False shows no pairs.
        command, date: texts that say what made the page, and when; they are shown unchanged.
        options: further arguments of `cond_ped_anova`, for observations.

    Returns:
        The result that the page shows.

    Raises:
        TypeError: a source or interactions of another kind; ``levels`` or ``options`` together
            with a result.
        ValueError: as in `cond_ped_anova`; also if the path cannot be written, which is tried first.
        ImportError: without jinja2 (the extra ``parzax[report]``).
    """
    # imported first: its error says what to install, before any work is done
    from parzax.lens.page.rendering import render

    path = Path(path)
    writable = os.access(path, os.W_OK) if path.exists() else can_write_in(path.parent)
    if path.is_dir() or not writable:
        remedy = "name a file in a folder that exists and can be written to"
        raise ValueError(f"path: cannot write {str(path)!r}; {remedy}.")
    result = compute_result(source, levels, options)
    if isinstance(interactions, bool):
        interactions = _compute_interactions(source, result, options) if interactions else None
    elif interactions is not None:
        wanted = "a parzax.lens.results.InteractionResult, True or False"
        _checks.instance("interactions", interactions, InteractionResult, wanted)
    obs = counted_rows(source, options.get("rows")) if isinstance(source, Observations) else None
    about = title, command, date, obs, options.get("objective", 0)
    html = render(content(result, interactions, MAX_PARAMETERS, *about))
    path.write_text(html, encoding="utf-8", newline="\n")
    return result


def compute_result(source: Any, levels: Any, options: dict[str, Any]) -> ImportanceResult:
    """The importances of a page, by the arguments of `report`."""
    if isinstance(source, ImportanceResult):
        if given := ["levels"] * (levels is not None) + [*options]:
            raise TypeError(f"{given[0]} goes with observations: this result was computed already.")
        return source
    levels = candidate_levels(options.get("region", 1.0)) if levels is None else levels
    return cond_ped_anova(source, levels, **options)


def _compute_interactions(source: Any, result: ImportanceResult, options: dict[str, Any]) -> Any:
    """Interactions of the most important parameters of a log; None with fewer than two."""
    mean = result.mean.max(axis=0)
    names = [result.names[j] for j in np.sort(np.argsort(-mean, kind="stable")[:_PAIRED]) if mean[j] > 0]
    if not isinstance(source, Observations) or len(names) < 2:
        return None
    levels, chosen = result.levels, combinations(names, 2)
    near = levels[[result.usual_level, np.abs(levels - _PAIR_LEVEL).argmin()]].tolist()
    shared = {name: options[name] for name in ("region", "objective", "rows") if name in options}
    return pairs_of(source, list(dict.fromkeys(near)), pairs=list(chosen), **shared)
