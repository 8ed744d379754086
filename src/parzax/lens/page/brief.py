"""The first sentences of a page, for a terminal."""

from parzax._words import visible
from parzax.lens.page.numbers import numbers
from parzax.lens.page.values import good_text
from parzax.lens.page.words import summary
from parzax.lens.results import ImportanceResult
from parzax.lens.results.labels import short_labels

_LABEL = 28  # longest label, in characters


def summarise(result: ImportanceResult) -> list[str]:
    """Summarise the page at its opening level: important parameters, their good values, and the certainty."""
    stats, labels = numbers(result), short_labels([visible(name) for name in result.names], _LABEL)
    values = ((result.space.index(good.parameter), good) for good in result.good_values())
    texts = ((j, good_text(good, result.space[good.parameter])) for j, good in values)
    lines = summary(result, stats, labels, [(j, text) for j, text in texts if text])
    # A terminal would show a no-break space as an escape.
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
