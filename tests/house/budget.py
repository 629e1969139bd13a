"""Lines and files that each room of the house may have. Changed on purpose only, in this one table.

A room that grows takes from another, or the commit that raises it says what the lines are for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: No file is longer.
LONGEST: Final = 400


class Room(NamedTuple):
    """The most lines and files under a folder of the package; "" is what stands beside them."""

    lines: int
    files: int


#: All rooms together.
HOUSE: Final = Room(62_250, 424)

ROOMS: Final = {
    "": Room(100, 1),
    "catalogue": Room(9_000, 42),
    "cli": Room(3_500, 34),
    "diagnostics": Room(1_500, 11),
    "drawing": Room(750, 9),
    "estimators": Room(3_750, 25),
    "figures": Room(1_650, 15),
    "lab": Room(3_350, 23),
    "maths": Room(4_850, 39),
    "models": Room(12_300, 84),
    "planning": Room(1_950, 14),
    "reports": Room(900, 8),
    "rows": Room(7_250, 42),
    "table": Room(5_300, 39),
    "tasks": Room(2_750, 23),
    "theory": Room(5_330, 29),
}
