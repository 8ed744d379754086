"""``python -m parzax``."""

import sys

from parzax.lens.cli import main

sys.exit(main())
