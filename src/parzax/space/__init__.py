"""Search spaces: domains, conditions, spaces, and the named values of configurations."""

from parzax.space import valid as valid
from parzax.space.axes import Axis as Axis
from parzax.space.axes import Cells as Cells
from parzax.space.choice import Choice as Choice
from parzax.space.choice import choose as choose
from parzax.space.conditions import Between as Between
from parzax.space.conditions import Condition as Condition
from parzax.space.conditions import Given as Given
from parzax.space.conditions import In as In
from parzax.space.conditions import Recorded as Recorded
from parzax.space.conditions import choice_key as choice_key
from parzax.space.conditions import holds as holds
from parzax.space.domains import Categorical as Categorical
from parzax.space.domains import Domain as Domain
from parzax.space.domains import Float as Float
from parzax.space.domains import Int as Int
from parzax.space.domains import Numeric as Numeric
from parzax.space.domains import Ordinal as Ordinal
from parzax.space.domains import Varying as Varying
from parzax.space.frame import INACTIVE as INACTIVE
from parzax.space.frame import ConditionTests as ConditionTests
from parzax.space.frame import Frame as Frame
from parzax.space.frame import Points as Points
from parzax.space.frame import stack_axes as stack_axes
from parzax.space.space import Space as Space
