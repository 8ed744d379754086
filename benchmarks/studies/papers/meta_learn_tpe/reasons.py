"""Why rows differ or are not told apart, by key, where a sentence says it."""

_REPEATS = (
    "ours repeats itself more than MO-TPE does on this table of 648 entries (the row on different entries); "
    'without repeats it is not behind (the row "without repeats")'
)
_NEAR = "so near an end of our range that only many times as many runs would tell"
REASONS = {
    "f12-number-0": _NEAR,
    "f12-poorly": "c* = 1 is as printed, c* = 2 is level; more runs of both would tell",
    "f4-no-repeats-so_en": "near 1; twice as many runs would tell",
    "same": f"on sw_en {_REPEATS}",
    "f10-slice_localization": "few runs end far from the front and decide the mean; 10,000s would tell",
    "f4-best-sw_en": _REPEATS,
    "onset-1": "ceil(gamma N) is 3 from 21 rows on, floor(gamma N) from 30 on; the paper defines it as ceil",
    "onset-2": "the default takes the first front as a whole, here 3 rows at 15; see the row above",
}
