"""Which objective the command explains: one of them, each by itself, or the way to their Pareto front."""

from typing import Any

from parzax.cli.writing import say
from parzax.observations import Observations
from parzax.results import importance_by_objective
from parzax.results.table import importance_table
from parzax.results.targets import objective_index, objective_names


def chosen(text: str, obs: Observations) -> dict[str, Any]:
    """The arguments of `cond_ped_anova` that --objective stands for: a number, a name, or "pareto"."""
    if text == "pareto":
        return {"selection": "pareto"}
    try:
        return {"objective": objective_index(obs, int(text) if text.isdecimal() else text)}
    except ValueError as error:
        words = ", all or pareto" if obs.n_objectives > 1 else ""
        raise ValueError(f"--objective takes a number or name{words}: {error}") from error


def heading(text: str, obs: Observations) -> list[str]:
    """For a log of several objectives: what its table is about, and what else there is."""
    if obs.n_objectives == 1:
        return []
    if text == "pareto":
        ways = " and ".join(obs.report.direction)
        about = f"all {obs.n_objectives} objectives ({ways}) by Pareto rank"
        return [f"{about}; --objective all for each by itself"]
    number = chosen(text, obs)["objective"]
    about = f"objective {number} of {obs.n_objectives} ({obs.report.direction[number]})"
    named = f", {objective_names(obs)[number]!r}" if obs.report.objectives else ""
    return [f"{about}{named}; --objective I for another, or all, or pareto"]


def say_all(obs: Observations, levels: list[float], **how: Any) -> None:
    """Print a table for each objective."""
    found = importance_by_objective(obs, levels, **how)
    for i, (name, result) in enumerate(found.items()):
        say(*[""] * (i > 0), f"objective {i} of {len(found)}, {name!r} ({obs.report.direction[i]})")
        say(*importance_table(result, inferred=False).to_text().split("\n"))
