"""Numbers along an axis in words of their size: 1.2M where matplotlib would set 1e6 apart."""

# Apart: matplotlib is imported where something is drawn, and style without that.

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import ScalarFormatter

#: Sizes from which numbers are written in a larger unit, the largest first.
UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"))
#: Sizes beyond which only powers of ten are short.
SMALLEST, LARGEST = 1e-4, 1e15


def unit(largest: float) -> tuple[float, str]:
    """What to divide numbers up to `largest` by, and what is written behind them.

    >>> unit(2.5e6), unit(9e5), unit(2e-7), unit(0.0)
    ((1000000.0, 'M'), (1.0, ''), (1e-07, 'e−7'), (1.0, ''))
    """
    if largest == 0 or not np.isfinite(largest):
        return 1.0, ""
    if SMALLEST <= largest < LARGEST:
        return next(((size, word) for size, word in UNITS if largest >= size), (1.0, ""))
    power = int(np.floor(np.log10(largest)))
    return 10.0**power, f"e{power}".replace("-", "−")


class Amounts(ScalarFormatter):
    """Ticks with their unit, all alike, in place of one offset at the end of the axis.

    >>> from matplotlib.figure import Figure
    >>> axis = Figure().add_subplot().xaxis
    >>> axis.set_major_formatter(Amounts())
    >>> axis.get_major_formatter().format_ticks([0, 5e5, 1e6])
    ['0', '0.5M', '1.0M']
    """

    def __init__(self) -> None:
        super().__init__(useOffset=False)
        self.set_scientific(False)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        ticks = np.asarray(values, dtype=np.float64)
        size, word = unit(float(np.abs(ticks).max(initial=0.0)))
        texts = super().format_ticks(list(ticks / size))
        pairs = zip(texts, ticks, strict=True)
        return [f"{text}{word}" if tick or not word else "0" for text, tick in pairs]
