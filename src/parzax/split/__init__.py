"""Splits: which rows of a `State` are in the groups below (good) and above, and the weights of good rows."""

from parzax.split import gamma as gamma
from parzax.split import merits as merits
from parzax.split.split import AbstractSplit as AbstractSplit
from parzax.split.split import Split as Split
from parzax.split.split import SplitRows as SplitRows
from parzax.split.split import first_orders as first_orders
from parzax.split.split import first_rows as first_rows
from parzax.split.split import padded_size as padded_size
from parzax.split.state import State as State
