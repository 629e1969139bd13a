"""The file of fits: one JSON object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Key = tuple[str, int, str]


def key(line: Line) -> Key:
    """What makes a fit: table, split, method."""
    return line["table"], line["split"], line["method"]


def read_lines(path: Path) -> list[Line]:
    """All whole lines; none where there is no file."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines() if text.endswith("}")]


def dropped(lines: list[Line], methods: set[str], tables: set[str]) -> list[Line]:
    """Leave out the lines of `methods` on `tables`."""
    return [line for line in lines if line["method"] not in methods or line["table"] not in tables]
