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
HOUSE: Final = Room(63_900, 497)

ROOMS: Final = {
    "": Room(100, 1),
    "catalogue": Room(8_600, 42),
    "cli": Room(3_600, 33),
    "diagnostics": Room(1_550, 14),
    "drawing": Room(900, 10),
    "estimators": Room(4_450, 28),
    "figures": Room(1_660, 14),
    "lab": Room(3_800, 26),
    "maths": Room(4_950, 44),
    "models": Room(13_150, 100),
    "planning": Room(2_100, 18),
    "reports": Room(830, 7),
    "rows": Room(6_200, 46),
    "table": Room(5_500, 50),
    "tasks": Room(2_800, 27),
    "theory": Room(5_600, 38),
}
