"""Presets with the settings of the papers' texts.

`parzax.c_tpe`, `parzax.mo_tpe` and `parzax.paper_meta_learn_tpe` follow the authors' code where it differs
from the text. docs/studies/presets.md lists these differences, and the points in which the presets here
follow the code as well.
"""

from typing import Any, Unpack

from parzax import samplers
from parzax.samplers.meta_learning import SourceOptions
from parzax.samplers.options import Directions, Options, with_defaults
from parzax.samplers.sampler import Sampler
from parzax.split import gamma

# Algorithm 1 of arXiv 2211.14411 draws candidates from the joint density, as does Algorithm 2 of 2212.06751.
_MO_TPE = Options(first_front=False, joint=True)


@with_defaults(samplers.c_tpe, Options(every_minimum=True, joint=True))
def c_tpe(
    space: Any,
    n_constraints: int = 1,
    *,
    n_objectives: int = 1,
    naive: bool = False,
    direction: Directions = "minimize",
    **options: Unpack[Options],
) -> Sampler:
    """Constrained TPE, by the text of arXiv 2211.14411 (Algorithm 1, Section 2.2).

    Two settings differ from `parzax.c_tpe`. A candidate is drawn jointly, x ~ p(x | D^(l)). While no row
    satisfies a constraint, all rows at its smallest value are below, as Section 2.2 says (Appendix B.3.2
    takes one of them).

    Args:
        space, n_constraints, n_objectives, naive, direction, **options: as in `parzax.c_tpe`.
    """
    return samplers.c_tpe(
        space, n_constraints, n_objectives=n_objectives, naive=naive, direction=direction, **options
    )


@with_defaults(samplers.mo_tpe, _MO_TPE)
def mo_tpe(
    space: Any,
    n_objectives: int = 2,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    **options: Unpack[Options],
) -> Sampler:
    """Multi-objective TPE, by the text of arXiv 2212.06751 (Section 4.4, Appendix C.2).

    Two settings differ from `parzax.mo_tpe`. The best ceil(0.1 N) rows are below, however many rows the first
    front has. A candidate is drawn jointly.

    Args:
        space, n_objectives, n_constraints, directions, **options: as in `parzax.mo_tpe`.
    """
    return samplers.mo_tpe(space, n_objectives, n_constraints, directions=directions, **options)


@with_defaults(
    samplers.paper_meta_learn_tpe,
    SourceOptions(
        **_MO_TPE,
        estimate="uniform",
        n_good=gamma.linear(0.1, down=True),
        compared_top=None,
        max_candidates=10**6,
    ),
)
def meta_learn_tpe(
    space: Any,
    sources: Any,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    **options: Unpack[SourceOptions],
) -> Sampler:
    """Meta-learning TPE, by the text of arXiv 2212.06751 (Algorithms 1 and 2).

    These settings differ from `parzax.paper_meta_learn_tpe`, besides those of `mo_tpe` above. Similarities
    are estimated at uniform points (Eq. 10). The densities that are compared have the categorical kernels of
    the score (Eq. 15 to 17). The number of compared parameters is computed from floor(0.1 N) good rows, so
    parameters are kept from 30 rows on (Section 4.5). Every task proposes ``n_candidates`` candidates.

    Args:
        space, sources, n_objectives, n_constraints, directions, **options: as in
            `parzax.paper_meta_learn_tpe`.
    """
    return samplers.paper_meta_learn_tpe(
        space, sources, n_objectives, n_constraints, directions=directions, **options
    )
