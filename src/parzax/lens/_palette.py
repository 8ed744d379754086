"""Colours of parameters, in all pictures."""

# Okabe and Ito's colour-blind-safe palette without black and yellow (too faint on white).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D46")
