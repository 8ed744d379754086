"""Normal tails, log masses, quantiles, and sums and loops for XLA: the names that several files use."""

from parzax._numerics.arrays import capacity as capacity
from parzax._numerics.arrays import divisor as divisor
from parzax._numerics.arrays import to_device as to_device
from parzax._numerics.arrays import total as total
from parzax._numerics.interval import open_uniform as open_uniform
from parzax._numerics.keys import count_below as count_below
from parzax._numerics.keys import ordered_key as ordered_key
from parzax._numerics.keys import round_up as round_up
from parzax._numerics.logsumexp import weighted_logsumexp as weighted_logsumexp
