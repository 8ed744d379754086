"""``python -m parzax``."""

import sys

from parzax.cli import main

sys.exit(main())
