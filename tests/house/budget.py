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


ROOMS: Final = {
    "": Room(90, 2),
    "catalogue": Room(12_996, 58),
    "cli": Room(3_712, 27),
    "diagnostics": Room(1_135, 8),
    "drawing": Room(728, 6),
    "estimators": Room(3_447, 20),
    "figures": Room(1_665, 10),
    "interface": Room(829, 5),
    "lab": Room(3_205, 20),
    "maths": Room(4_351, 38),
    "models": Room(11_063, 73),
    "planning": Room(1_436, 10),
    "reports": Room(997, 5),
    "rows": Room(6_686, 36),
    "table": Room(9_166, 45),
    "tasks": Room(2_218, 19),
    "theory": Room(6_066, 34),
}
