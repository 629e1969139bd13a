"""Lines and files that each room of the house may have. Changed on purpose only, in this one table.

A room that grows takes from another, or the commit that raises it says what the lines are for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: No file is longer.
LONGEST: Final = 400

#: Half of the files are shorter. The mean length that ROOMS allow is above this, so most files hold
#: one idea and the long ones are few; and files that are read together may become one without
#: another being cut to 149 lines, as bounds just at the median (149, 175) had it.
TYPICAL: Final = 200


class Room(NamedTuple):
    """The most lines and files under a folder of the package; "" is what stands beside them."""

    lines: int
    files: int


ROOMS: Final = {
    "": Room(134, 3),
    "catalogue": Room(12_436, 57),
    "cli": Room(3_848, 25),
    "diagnostics": Room(1_137, 8),
    "drawing": Room(917, 7),
    "estimators": Room(3_568, 19),
    "figures": Room(1_625, 9),
    "interface": Room(1_274, 6),
    "lab": Room(3_573, 19),
    "maths": Room(4_632, 31),
    "models": Room(11_567, 69),
    "planning": Room(1_462, 10),
    "reports": Room(1_020, 4),
    "rows": Room(7_186, 32),
    "table": Room(12_769, 48),
    "tasks": Room(2_211, 18),
    "theory": Room(6_799, 32),
}
