"""Made-up diagnoses: every variant that the page, the figures and the terminal must show."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from gradfeat.table.diagnosis import (
    Curvature,
    DegreeFinding,
    DiagnosisReport,
    FoundDirections,
    SampleSize,
    Share,
    Shares,
)
from gradfeat.table.results import ColumnNote, Interval, Remark
from reports.factory import HOSTILE

COLUMNS = ("hr", "temp", "atemp", "hum", "a_column_with_a_very_long_name_indeed", "season")


def share(name: Literal["linear", "quadratic", "higher"], value: float) -> Share:
    return Share(name, Interval(value, value - 0.02, value + 0.02), value > 0.02)


def shares(linear: float, quadratic: float, higher: float) -> Shares:
    total = linear + quadratic + higher
    parts = (share("linear", linear), share("quadratic", quadratic), share("higher", higher))
    return Shares(parts, Interval(total, total - 0.02, total + 0.02), 3000, 3, ("alpha = 0.1",) * 3)


def degree(k: int, strength: float, found: bool) -> DegreeFinding:
    width = 0.003 * 4 ** (k - 1)
    p = 0.001 if found else 0.4
    return DegreeFinding(k, strength, -width, 1.2 * width, 2 * width, p, found, k - 1)


def curvature(d: int, first: float, signed: bool = True) -> Curvature:
    null = np.linspace(0.1, -0.1, d) if signed else np.linspace(0.1, 0.05, d)
    values = null.copy()
    values[0] = first
    return Curvature(values, null - 0.02, null + 0.02, 0.15, 0.005, signed)


def directions(r: int, columns: tuple[str, ...] = COLUMNS) -> FoundDirections:
    loadings = np.random.default_rng(0).uniform(-0.9, 0.9, (len(columns), r))
    return FoundDirections(r, columns, loadings, (1, 2), ())


def bikes() -> DiagnosisReport:
    """Linear, quadratic and higher signal; two directions."""
    notes = tuple(ColumnNote(c, "number", 24, 0, "as it is") for c in COLUMNS)
    return DiagnosisReport(
        data="bikeshare.csv",
        target="log_bikers",
        task="regression",
        classes=(),
        n_rows=8_645,
        n_tested=5_000,
        n_encoded=26,
        n_inputs=24,
        columns=notes,
        shares=shares(0.51, 0.11, 0.28),
        degrees=(degree(1, 0.51, True), degree(2, 0.09, True), *map(_nothing, (3, 4))),
        exponent=1,
        generative=1,
        curvature=curvature(24, 0.34),
        directions=directions(2),
        sample_sizes=(SampleSize("one gradient step", "d", 24.0), SampleSize("k", "d^4", 331776.0)),
        level=0.01,
        draws=999,
        seed=0,
        versions={"gradfeat": "0.1.0", "python": "3.11.9"},
        command="gradfeat diagnose bikeshare.csv --target log_bikers",
        seconds=42.0,
        remarks=(
            Remark("Left out as an identifier: 'id' (1 of 1)."),
            Remark("The rows that are used were drawn at random, by a hash.", "last"),
        ),
    )


def _nothing(k: int) -> DegreeFinding:
    return degree(k, -0.001, False)


def noise() -> DiagnosisReport:
    """No evidence of anything."""
    return replace(
        bikes(),
        shares=shares(-0.01, -0.002, -0.012),
        degrees=tuple(map(_nothing, (1, 2, 3, 4))),
        exponent=None,
        generative=None,
        curvature=curvature(24, 0.1),
        directions=directions(0),
        sample_sizes=(),
        remarks=(),
    )


def cubic() -> DiagnosisReport:
    """Information exponent 3."""
    return replace(
        bikes(),
        shares=shares(0.0, 0.0, 0.6),
        degrees=(_nothing(1), _nothing(2), degree(3, 1.0, True), _nothing(4)),
        exponent=3,
        generative=3,
        transformed=(_nothing(1), _nothing(2)),
        curvature=curvature(24, 0.1),
        directions=replace(directions(1), degrees=(), left_out=(3,)),
        sample_sizes=(SampleSize("one gradient step", "d^3", 13_824.0),),
    )


def transformed() -> DiagnosisReport:
    """Information exponent 3, generative exponent 1."""
    shown = (degree(1, 0.09, True), _nothing(2))
    sizes = (SampleSize("steps that use rows again see a function of the target", "d", 24.0),)
    found = replace(cubic(), generative=1, transformed=shown)
    return replace(found, sample_sizes=sizes + found.sample_sizes)


def spread() -> DiagnosisReport:
    """A function of the target shows degree 1; its mean and the models show nothing."""
    shown = (degree(1, 0.09, True), _nothing(2))
    return replace(noise(), generative=1, transformed=shown, spread=("hr", "temp"))


def linear() -> DiagnosisReport:
    """A line and nothing else."""
    degrees = (degree(1, 0.6, True), *map(_nothing, (2, 3, 4)))
    found = replace(bikes(), shares=shares(0.6, 0.0, 0.0), degrees=degrees)
    return replace(found, directions=directions(1))


def classes() -> DiagnosisReport:
    """Curvature without sign, many directions."""
    names = ("a", "b", "c")
    found = replace(bikes(), task="classification", classes=names, directions=directions(6))
    return replace(found, curvature=curvature(24, 0.4, signed=False))


def narrow() -> DiagnosisReport:
    """One column, one input."""
    one = replace(bikes(), n_inputs=1, n_encoded=1, curvature=curvature(1, 0.4))
    return replace(one, columns=one.columns[:1], directions=directions(1, COLUMNS[:1]))


def hostile() -> DiagnosisReport:
    """Every text a user can choose is an attack or broken mathematics."""
    found = bikes()
    return replace(
        found,
        data=HOSTILE,
        target=HOSTILE,
        command=HOSTILE,
        remarks=(Remark(HOSTILE), Remark(HOSTILE, "last")),
        columns=(replace(found.columns[0], name=HOSTILE, treatment=HOSTILE),),
        directions=directions(2, (HOSTILE, *COLUMNS[1:])),
    )


DIAGNOSES = {
    "bikes": bikes(),
    "noise": noise(),
    "cubic": cubic(),
    "transformed": transformed(),
    "spread": spread(),
    "linear": linear(),
    "classes": classes(),
    "narrow": narrow(),
    "hostile": hostile(),
}
