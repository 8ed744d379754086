"""Samplers of the TPE family: presets, the ask-and-tell interface, and whole optimisation runs.

A preset returns a `Sampler`: `tpe`, `meta_learn_tpe`, and the published `c_tpe`, `mo_tpe` and `optuna_tpe`;
`parzax.papers` has more. The rows that a sampler has seen are in a `State`. `optimize` runs a sampler on a
problem and returns a `Trace`; `parzax.optimize_many` makes many runs.
"""

from parzax.samplers import stop as stop
from parzax.samplers.candidates import AbstractStart as AbstractStart
from parzax.samplers.candidates import FromRows as FromRows
from parzax.samplers.candidates import Proposal as Proposal
from parzax.samplers.candidates import RandomStart as RandomStart
from parzax.samplers.loop import optimize as optimize
from parzax.samplers.meta_learning import meta_learn_tpe as meta_learn_tpe
from parzax.samplers.meta_learning import similarities as similarities
from parzax.samplers.presets import c_tpe as c_tpe
from parzax.samplers.presets import mo_tpe as mo_tpe
from parzax.samplers.presets import optuna_tpe as optuna_tpe
from parzax.samplers.presets import tpe as tpe
from parzax.samplers.problem import Problem as Problem
from parzax.samplers.repeats import Best as Best
from parzax.samplers.sampler import Sampler as Sampler
from parzax.samplers.tabular import Tabular as Tabular
from parzax.samplers.trace import Trace as Trace
from parzax.split import State as State
