"""Several at once under constraints: ``python -m benchmarks.studies.batches_constrained``.

As `benchmarks.studies.batches`, on problems with constraints and with two objectives, and with liars. Writes
a page, docs/studies/batches_constrained.md for a full run without --out. Exits with status 1 where ``ask(n)``
is significantly behind another rule at some n. PARZAX_DATA names the folder of tables.
"""

import sys
from collections.abc import Mapping

from benchmarks.studies import pages
from benchmarks.studies.batches import (
    CHECKPOINTS,
    LIARS,
    N_EVALUATIONS,
    OURS,
    RULES,
    SIZES,
    behind,
    claims,
    table,
)
from benchmarks.studies.optimisers import constrained, suites, two
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit

N_SEEDS = 12
KINDS = {
    "Constraints": (constrained.BALL, "hpolib, both"),
    "Two objectives": (two.PAIRS,),
}


def units(quick: bool) -> list[Unit]:
    """Rules by n and group of problems; one at a time is the first."""
    n_seeds, n_evaluations, sizes = (4, 48, (4,)) if quick else (N_SEEDS, N_EVALUATIONS, SIZES)
    available = {name for suite in ("constrained", "two") for name in suites.names(suite)}
    groups = [name for names in KINDS.values() for name in names if name in available]
    found = []
    for group in groups[:1] if quick else groups:
        pairs = [(OURS, 1), *((rule, n) for n in sizes for rule in (*RULES, *LIARS) if rule != "n best")]
        for rule, n in pairs:
            arguments = {
                "rule": rule,
                "n": n,
                "group": group,
                "n_seeds": n_seeds,
                "n_evaluations": n_evaluations,
            }
            needs = ("bbobax",) if group == two.PAIRS else ()
            found.append(
                Unit(f"{rule}/{n}/{group}", "benchmarks.studies.batches:search", arguments, needs, cost=80.0)
            )
    return found


def written(found: Mapping[str, Arrays]) -> Page:
    """A table for each kind, and what does not hold."""
    shape = next(iter(next(iter(found.values())).values())).shape
    sizes = sorted({int(name.split("/")[1]) for name in found} - {1})
    budgets = [budget for budget in CHECKPOINTS if budget <= shape[1]] or [shape[1]]
    blocks, failed = [ABOUT], []
    for kind, groups in KINDS.items():
        own = {name: arrays for name, arrays in found.items() if name.split("/")[2] in groups}
        if own:
            lost = [text for size in sizes for budget in budgets for text in behind(own, size, budget)]
            blocks += [f"## {kind}", table(own, sizes, budgets), claims(lost)]
            failed += lost
    return Page(blocks, shape, failed)


ABOUT = """[Several at once](batches.md) has the rules without constraints, and how the tables are read. Here
evaluations have one constraint (mixed functions in a ball, 9 problems) or two (tables of HPOlib with limits
on size and runtime, 6 problems), with 10, 50 or 90 % of the space feasible, or two objectives (pairs of BBOB
functions, 6 problems; the gap is the part of the hypervolume that is missing). All are from the half of
[the suite](optimisers/index.md) that serves to choose settings.

* *ask(n)*: the n best of the candidates of a single suggestion. Batches of midpoints, as for one objective
  alone, were tried (after 64, 128 and 192 evaluations; 12 runs). Constraints: 1.43, 1.14 and 1.33 for
  n = 4, 2.92, 2.24 and 1.84 for n = 16, 6.14, 3.63 and 3.42 for n = 64. Two objectives: 1.08, 1.03 and 1.02;
  1.24, 1.14 and 1.14; 1.66, 1.43 and 1.37. They are not better, so `ask(n)` does not use them here.
* *one by one, pending*: a pending row counts as bad and as infeasible.
* *one by one, median*: each suggestion is told with the median loss of the feasible rows before the next one,
  and with their median constraint values (a constant liar). While there is no feasible row it is pending."""


if __name__ == "__main__":
    title = "Several at once, constrained"
    sys.exit(pages.main(None, "batches_constrained", __doc__, title, units, written))
