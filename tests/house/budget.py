"""Lines and files that each room of the house may have. Changed on purpose only, in this one table.

A room has about a fiftieth of its lines to spare, rounded, and one file where it has several: a
change within a room need not touch this table, and changes side by side do not meet in it. A room
that grows beyond takes from another, or the commit that raises it says what the lines are for. All
files together are bounded apart, without room to spare for each.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: No file is longer.
LONGEST: Final = 400

#: Files of the whole package.
MOST_FILES: Final = 400

#: Half of the files are shorter. The mean length that ROOMS allow is above this, so most files hold
#: one idea and the long ones are few; and files that are read together may become one without
#: another being cut to 149 lines, as bounds just at the median (149, 175) had it.
TYPICAL: Final = 200


class Room(NamedTuple):
    """The most lines and files under a folder of the package; "" is what stands beside them."""

    lines: int
    files: int


ROOMS: Final = {
    "": Room(460, 4),
    "catalogue": Room(12_600, 58),
    "cli": Room(3_900, 26),
    "diagnostics": Room(1_150, 9),
    "drawing": Room(800, 7),
    "estimators": Room(3_650, 20),
    "figures": Room(1_650, 10),
    "interface": Room(1_300, 7),
    "lab": Room(3_650, 20),
    "maths": Room(4_800, 32),
    "models": Room(11_800, 70),
    "planning": Room(1_500, 11),
    "reports": Room(1_030, 4),
    "rows": Room(7_150, 31),
    "table": Room(13_150, 49),
    "tasks": Room(2_250, 19),
    "theory": Room(6_950, 33),
}
