"""Tables of `benchmarks/README.md` as pictures, with the command that printed each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

matplotlib.use("agg")
README = Path(__file__).resolve().parents[2] / "benchmarks" / "README.md"

HEAD = """# Benchmarks in pictures

Bars of the tables on [Benchmarks](../../project/benchmarks.md), which has words on each; drawn from
that file when the site is built. Seconds are those of one machine: read the ratios.

"""
TAIL = """## Others

- [Mean rank against the time of a fit](../../project/tables.md), 18 tables and 13 methods
- [1 - R2 against rows and seconds](../../project/benchmarks.md#scores-against-rows)
- [Directions of airfoil drag](../../project/benchmarks.md)
"""


@dataclass(frozen=True)
class Bars:
    """A table below a heading: columns whose words name a row, and the column of its number."""

    heading: str
    names: tuple[str, ...]
    value: str
    title: str


EQUAL, PEER = "RFM against xrfm, all settings equal", "neural-tangents"
FORMING = f"Forming NTK and NNGP matrices against {PEER}"
LARGE, ASKED = "Files larger than memory", "The time asked, and taken"
CHARTS = (
    Bars(EQUAL, ("n", "d", "method"), "seconds", "Seconds of a fit, settings equal"),
    Bars(EQUAL, ("n", "d", "method"), "against gradfeat", "Seconds over gradfeat's"),
    Bars("Each as it comes", ("method",), "R2", "R2 with defaults, single-index data"),
    Bars("Predictions", ("family", "model"), "us a row", "Microseconds of a prediction"),
    Bars(FORMING, ("precision", "kernel"), "ratio", f"{PEER}' seconds over gradfeat's"),
    Bars(LARGE, ("rows",), "memory", "Largest memory of a fit, MB"),
    Bars(LARGE, ("rows",), "seconds", "Seconds of a fit"),
    Bars(ASKED, ("rows x columns", "target"), "wall", "Wall seconds of a fit, 20 asked"),
)


def section(text: str, heading: str) -> str:
    """What stands below a heading."""
    return text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def table(text: str) -> list[dict[str, str]]:
    """The first table, a dictionary a row.

    >>> table("| a | b |\\n|---|---|\\n| 1 | 2 |\\n")
    [{'a': '1', 'b': '2'}]
    """
    lines = re.search(r"(?:^\|.*\n?)+", text, re.MULTILINE)[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


def number(cell: str) -> float:
    """The number that a cell begins with.

    >>> number("**1,289** MB"), number(".52 (.6)")
    (1289.0, 0.52)
    """
    return float(re.search(r"-?[\d,]*\.?\d+", cell)[0].replace(",", ""))


def command(text: str) -> str:
    """The first command of a section."""
    return " ".join(re.search(r"`((?:taskset [^`]*)?python [^`]+)`", text)[1].split())


def drawn(chart: Bars, rows: list[dict[str, str]]) -> Figure:
    """Bars with their numbers; gradfeat's in another colour where methods are compared."""
    names = [", ".join(row[name] for name in chart.names) for row in rows]
    values = [number(row[chart.value]) for row in rows]
    ours = ["#c25400" if "gradfeat" in name else "#0072b2" for name in names]
    figure = Figure(figsize=(7, 0.6 + 0.3 * len(rows)), layout="constrained")
    ax = figure.subplots()
    ax.bar_label(ax.barh(names, values, color=ours), [row[chart.value] for row in rows], padding=3)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(chart.title, loc="left", fontsize=10)
    return figure


def pages(folder: Path, name: str) -> dict[str, str]:
    """The page, in Markdown; its pictures are written beside it."""
    text, parts = README.read_text("utf-8"), [HEAD]
    folder.mkdir(parents=True, exist_ok=True)
    for k, chart in enumerate(CHARTS):
        below = section(text, chart.heading)
        drawn(chart, table(below)).savefig(folder / f"bars-{k}.svg", metadata={"Date": None})
        if k == 0 or CHARTS[k - 1].heading != chart.heading:
            parts.append(f"## {chart.heading}\n\n```text\n{command(below)}\n```\n")
        parts.append(f"![{chart.title}](bars-{k}.svg)\n")
    return {name: "\n".join([*parts, TAIL])}
