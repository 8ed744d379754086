"""Samplers of the TPE family: presets, the ask-and-tell interface, and whole optimisation runs.

A preset returns a `Sampler`: `tpe` and `meta_learn_tpe`, and the published `paper_tpe`, `c_tpe`, `mo_tpe`,
`optuna_tpe` and `paper_meta_learn_tpe`. The rows that a sampler has seen are in a `State`. `optimize` and
`optimize_many` run a sampler on a problem and return a `Trace`.
"""

from parzax.samplers.best import Best as Best
from parzax.samplers.loop import optimize as optimize
from parzax.samplers.loop import optimize_many as optimize_many
from parzax.samplers.meta_learning import meta_learn_tpe as meta_learn_tpe
from parzax.samplers.meta_learning import paper_meta_learn_tpe as paper_meta_learn_tpe
from parzax.samplers.meta_learning import similarities as similarities
from parzax.samplers.presets import c_tpe as c_tpe
from parzax.samplers.presets import mo_tpe as mo_tpe
from parzax.samplers.presets import optuna_tpe as optuna_tpe
from parzax.samplers.presets import paper_tpe as paper_tpe
from parzax.samplers.presets import tpe as tpe
from parzax.samplers.problem import AbstractProblem as AbstractProblem
from parzax.samplers.problem import Problem as Problem
from parzax.samplers.sampler import Sampler as Sampler
from parzax.samplers.start import AbstractStart as AbstractStart
from parzax.samplers.start import FromRows as FromRows
from parzax.samplers.start import RandomStart as RandomStart
from parzax.samplers.tabular import Oracle as Oracle
from parzax.samplers.tabular import Tabular as Tabular
from parzax.samplers.trace import Trace as Trace
from parzax.split import State as State
