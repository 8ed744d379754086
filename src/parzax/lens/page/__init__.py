"""The page: one HTML file about the importances of one log, which opens without a network.

Needs the extra ``parzax[report]``.
"""

from parzax.lens.page.report import report as report
