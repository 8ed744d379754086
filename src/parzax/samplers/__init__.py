"""Samplers of the TPE family: presets of one engine with init, ask and tell, and whole runs of it.

`tpe`, `c_tpe`, `mo_tpe` and `optuna_tpe` make a `Sampler`, whose knowledge is a `State`; `optimize` and
`optimize_many` run it on a problem and give a `Trace`. `CountRule` says how many rows are good.
"""

from parzax.samplers.engine import Sampler as Sampler
from parzax.samplers.groups import CountRule as CountRule
from parzax.samplers.loop import Trace as Trace
from parzax.samplers.loop import optimize as optimize
from parzax.samplers.loop import optimize_many as optimize_many
from parzax.samplers.presets import c_tpe as c_tpe
from parzax.samplers.presets import meta_learn_tpe as meta_learn_tpe
from parzax.samplers.presets import mo_tpe as mo_tpe
from parzax.samplers.presets import optuna_tpe as optuna_tpe
from parzax.samplers.presets import tpe as tpe
from parzax.samplers.similarity_table import TaskSimilarity as TaskSimilarity
from parzax.samplers.similarity_table import task_similarity as task_similarity
from parzax.samplers.state import State as State
