"""Markdown tables of scores, the best of each row bold."""

from __future__ import annotations

import math

from lines import Line
from methods import METHODS
from summary import grouped, mean, spread
from table_list import TABLES


def grid(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def bold(value: float, best: float, form: str = "{:.4f}") -> str:
    """Text of a value, bold where it reads as the best does; a dash for nan."""
    if math.isnan(value):
        return "–"
    text = form.format(value)
    return f"**{text}**" if text == form.format(best) else text


def score_table(lines: list[Line], column: str) -> str:
    """Tables by methods; the spread over splits beside scores."""
    fits = grouped(lines, "table", "method")
    methods = [m.name for m in METHODS if any(name == m.name for _, name in fits)]
    tables = [t.name for t in TABLES if any(name == t.name for name, _ in fits)]
    rows = [[table, *_cells(fits, table, methods, column)] for table in tables]
    return grid(["table", *methods], rows)


def _cells(
    fits: dict[tuple[str, ...], list[Line]], table: str, methods: list[str], column: str
) -> list[str]:
    groups = [fits.get((table, method), []) for method in methods]
    values = [mean(group, column) for group in groups]
    known = [value for value in values if not math.isnan(value)]
    best = (min if column == "log_loss" else max)(known, default=math.nan)
    spreads = [spread(group) if column == "score" else math.nan for group in groups]
    return [
        bold(value, best) + ("" if math.isnan(sd) else f" ± {sd:.4f}")
        for value, sd in zip(values, spreads, strict=True)
    ]
