"""Numerics shared by all packages: normal tails, log masses, quantiles, and sums and loops for XLA."""

from parzax._numerics.arrays import capacity as capacity
from parzax._numerics.arrays import divisor as divisor
from parzax._numerics.arrays import largest_before as largest_before
from parzax._numerics.arrays import namespace as namespace
from parzax._numerics.arrays import running_count as running_count
from parzax._numerics.arrays import to_device as to_device
from parzax._numerics.arrays import total as total
from parzax._numerics.interval import log_normal_mass as log_normal_mass
from parzax._numerics.interval import log_unit_mass as log_unit_mass
from parzax._numerics.interval import open_uniform as open_uniform
from parzax._numerics.interval import unit_normal_quantile as unit_normal_quantile
from parzax._numerics.keys import count_below as count_below
from parzax._numerics.keys import float_of_key as float_of_key
from parzax._numerics.keys import ordered_key as ordered_key
from parzax._numerics.lattice import LatticeMasses as LatticeMasses
from parzax._numerics.logsumexp import ANCHORED_RANGE as ANCHORED_RANGE
from parzax._numerics.logsumexp import weighted_logsumexp as weighted_logsumexp
from parzax._numerics.tails import unit_cell_tails as unit_cell_tails
from parzax._numerics.tails import upper_tail as upper_tail
