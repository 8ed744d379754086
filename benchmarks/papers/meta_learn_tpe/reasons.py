"""Why rows differ or are not told apart, by key; one that differs and is not here is not known."""

_REPEATS = (
    "ours repeats itself more than MO-TPE does on this table of 648 entries (the row on different entries); "
    "without repeats it is not behind (the row of that name)"
)
_NEAR = "so near an end of our range that only many times as many runs would tell"
_ONE_SOURCE = (
    "the source is the one other table at hand, with which it shares more of its best entries than chance "
    "(the row of overlaps); the paper's other source is not at hand"
)
REASONS = {
    "f12-number-0": _NEAR,
    "f12-number-1": _NEAR,
    "f4-warm-so_en": _NEAR,
    "f12-poorly": "c* = 1 is as printed, c* = 2 is level; more runs of both would tell",
    "f8-bleu": _ONE_SOURCE,
    "f5-struggles": _ONE_SOURCE,
    "f4-no-repeats-so_en": "near 1; twice as many runs would tell",
    "same": "sw_en is so near the end of our range that several times as many runs would be needed",
    "f10-slice_localization": "few runs end far from the front and decide the mean; thousands would tell",
    "f4-best-sw_en": _REPEATS,
    "distinct": "suggestions of a density on few choices repeat; nothing here keeps a sampler from it",
    "onset-1": "the default counts ceil(gamma N) rows below; with floor(gamma N) it is as printed",
    "onset-2": "the default counts the first front, which is below as a whole; see floor(gamma N)",
}
