"""Feature matrices as pictures, with cosines and accuracies by pair of classes."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_metric,
    draw_series,
    file_name,
    only,
    over_seeds,
    settings,
)
from gradfeat.drawing import style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure

COSINES: Final = {
    "cosine": "change of W₁",
    "cosine_plain": "W₁ itself",
    "cosine_permuted": "M of permuted labels",
    "cosine_inputs": "inputs' second moment",
}
ACCURACIES: Final = {
    "accuracy_rfm": "RFM",
    "accuracy_ridge": "kernel ridge (M = I)",
    "accuracy_thresholded": "thresholded RFM",
}
_COLUMNS: Final = 4


def figure(table: DataFrame, _: DataFrame | None) -> Figure:
    """A row a pair, of the least noise: leading eigenvectors, cosines over training; then all."""
    clean = only(table, noise=table["noise"].min())
    pairs, depths = settings(clean, "source", "pair"), sorted({*table["layers"]})[:2]
    fig, axes = panels(_COLUMNS * (len(pairs) + 1), _COLUMNS, (3.5, 2.7))
    for i, (source, pair) in enumerate(pairs):
        own = only(clean, source=source, pair=pair)
        _row(fig, axes[_COLUMNS * i : _COLUMNS * (i + 1)], own, depths)
    last = axes[-_COLUMNS:]
    for ax in last[len(depths) : 2]:
        ax.remove()
    for ax, k in zip(last[:2], depths, strict=False):
        rows = only(table, layers=k)
        title = f"{k} layers: cosine {_range(rows, 'cosine')}"
        _by_pair(ax, rows, COSINES, title, "cosine with the RFM's M", len(depths))
        ax.set_ylim(-0.05, 1.05)
        ax.legend(loc="center left", fontsize=style.SMALL, frameon=False, labelcolor=style.INK)
    _ansatz(last[2], table, depths)
    _accuracies(last[3], table, depths)
    return finished([axes[3], *last[2:]], _words(table))


def _row(fig: Figure, axes: list[Axes], rows: DataFrame, depths: list[int]) -> None:
    source, pair = rows["source"].iloc[0], rows["pair"].iloc[0]
    drawn = rows.loc[rows["picture_rfm"].notna()] if "picture_rfm" in rows else rows.iloc[:0]
    _picture(axes[0], f"{file_name(source)} {pair}: RFM's M", drawn, "picture_rfm")
    for ax in axes[1 + len(depths) : 3]:
        ax.remove()
    for ax, k in zip(axes[1:3], depths, strict=False):
        mean = only(rows, layers=k)["cosine"].mean()
        _picture(ax, f"{k} layers: cosine {mean:.2f}", only(drawn, layers=k), "picture_net")
    if axes[2].figure is not None and axes[2].images:
        style.picture_bar(fig, axes[2], "entry / largest")
    style.dress(axes[3], _peak(rows), "training loss", "cosine with M", "y")
    names = {k: f"network, {k} layers" for k in depths}
    draw_series(axes[3], rows, "layers", names, "level", "cosines", connect=True)
    axes[3].set_ylim(0, 1.05)
    style.logarithmic(axes[3], "x")
    axes[3].invert_xaxis()


def _picture(ax: Axes, title: str, rows: DataFrame, name: str) -> None:
    style.dress(ax, title)
    ax.set_axis_off()
    if len(rows):
        style.picture(ax, np.asarray(rows[name].iloc[0], dtype=float))


def _peak(rows: DataFrame) -> str:
    """Where along training the agreement is best, averaged over networks and seeds."""
    paths = np.stack([np.asarray(path, float) for path in rows["cosines"]])
    whole = np.isfinite(paths).all(0)
    if not whole.any():
        return "Agreement while training"
    means = np.where(whole, np.where(np.isfinite(paths), paths, 0).mean(0), -1)
    level = np.asarray(rows["level"].iloc[0], float)[means.argmax()]
    return f"Agreement is best at loss {level:g}"


def _by_pair(
    ax: Axes, rows: DataFrame, names: dict[str, str], title: str, label: str, first: int = 0
) -> None:
    """Mean and interval of several metrics at each pair."""
    pairs = sorted(settings(rows, "source", "pair", "noise"), key=lambda one: one[2])  # pyright: ignore[reportArgumentType, reportCallIssue]
    place = {pair: float(i) for i, pair in enumerate(pairs)}
    keys = zip(rows["source"], rows["pair"], rows["noise"], strict=True)
    rows = rows.assign(place=[place[key] for key in keys])
    marks = style.class_marks(("",) * first + tuple(names.values()))[first:]
    style.dress(ax, title, "pair of classes", label, "y")
    for i, (metric, mark) in enumerate(zip(names, marks, strict=True)):
        draw_metric(ax, rows, "place", metric, mark, shift=5 * (i - (len(names) - 1) / 2))
    several = len({source for source, _, _ in pairs}) > 1
    words = [
        str(pair) + f"\n{style.short(file_name(source), 9)}" * several + "\nnoise" * (noise > 0)
        for source, pair, noise in pairs
    ]
    ax.set_xticks(list(place.values()), words)
    ax.set_xlim(-0.5, len(pairs) - 0.5)


def _ansatz(ax: Axes, table: DataFrame, depths: list[int]) -> None:
    rows = table.copy()
    names = {f"ansatz_{k}": f"network, {k} layers" for k in depths}
    for k in depths:
        rows[f"ansatz_{k}"] = rows["ansatz_least"].where(rows["layers"] == k)
    title = f"Ansatz, least layer: {_range(table, 'ansatz_least')}"
    _by_pair(ax, rows, names, title, "cosine of AGOP and W'W")
    ax.set_ylim(0, 1.05)


def _accuracies(ax: Axes, table: DataFrame, depths: list[int]) -> None:
    rows = table.copy()
    names = {f"network_{k}": f"network, {k} layers" for k in depths} | ACCURACIES
    for k in depths:
        rows[f"network_{k}"] = rows["accuracy_network"].where(rows["layers"] == k)
    for metric in ACCURACIES:  # the same at all depths
        rows[metric] = rows[metric].where(rows["layers"] == depths[0])
    _by_pair(ax, rows, names, "Test accuracy", "test accuracy")


def _range(rows: DataFrame, metric: str) -> str:
    parts = rows.groupby(["source", "pair", "noise", "layers"])[metric]
    means = [float(np.mean(part.to_numpy(float))) for _, part in parts]
    return f"{min(means):.2f} to {max(means):.2f}"


def _words(table: DataFrame) -> str:
    row = table.iloc[0]
    return (
        "Pictures: leading eigenvector of M and of the first layer's change, seed 0. Networks at"
        f" training loss {row['until']:g}; RFM: Laplace kernel, {row['rounds']} updates."
        f" Thresholded: {row['keep']:.0%} of the pixels. Points: {over_seeds(table)}."
        f"{averaged(table, 'n', 'until', 'width', 'initial', 'penalty')}"
    )
