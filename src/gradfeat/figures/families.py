"""How each family of methods is drawn."""

from __future__ import annotations

from typing import Final

from gradfeat.drawing.style import BLUE, GREEN, VERMILLION, Mark
from gradfeat.table.results import Family

FAMILIES: Final[dict[Family, Mark]] = {
    "learned": Mark("learned features", VERMILLION, "D"),
    "fixed": Mark("fixed features", BLUE, "o"),
    "reference": Mark("reference", GREEN, "s"),
}
