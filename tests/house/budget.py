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
    "": Room(452, 4),
    "catalogue": Room(12_440, 57),
    "cli": Room(3_866, 25),
    "diagnostics": Room(1_137, 8),
    "drawing": Room(780, 6),
    "estimators": Room(3_633, 19),
    "figures": Room(1_627, 9),
    "interface": Room(1_295, 6),
    "lab": Room(3_573, 19),
    "maths": Room(4_779, 31),
    "models": Room(11_558, 68),
    "planning": Room(1_461, 10),
    "reports": Room(1_027, 4),
    "rows": Room(6_914, 30),
    "table": Room(12_902, 49),
    "tasks": Room(2_211, 18),
    "theory": Room(6_843, 32),
}
