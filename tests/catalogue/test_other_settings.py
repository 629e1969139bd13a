"""A verdict from settings that no grid has says so, for every experiment and every setting."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from gradfeat.lab.loading import experiment, names
from gradfeat.lab.verdicts import judge

QUICK = ("abbe23-leaps",)


def judged(found, cells):
    """Verdicts on made-up numbers of the metrics that checks ask for."""
    table = pd.DataFrame([{**cell, "seed": seed} for cell in cells for seed in range(2)])
    while True:
        verdicts = [verdict for _, verdict in judge(found, table)]
        words = " ".join(v.words for v in verdicts if v.outcome == "cannot be checked")
        asked = re.search(r"checked: '+(\w+)'+", words)
        if asked is None or asked[1] in table:
            return verdicts
        table[asked[1]] = 1 + 0.01 * np.random.default_rng(0).random(len(table))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in names()]
)
def test_no_verdict_from_other_settings_stands_unmarked(name):
    found = experiment(name)
    decided = 0
    for factor, kind in found.factors.items():
        if kind.kind is str or factor == found.along:
            continue
        cells = [
            {**cell, factor: kind.kind(cell[factor] * 1.25 + 3)} for cell in found.cells("quick")
        ]
        known = [c[factor] for scale in found.grids for c in found.cells(scale)]
        if any(cell[factor] in known for cell in cells):
            continue
        for verdict in judged(found, cells):
            if verdict.outcome in ("holds", "fails"):
                decided += 1
                assert factor in verdict.elsewhere, verdict
    assert decided


def test_the_grids_own_cells_are_not_marked():
    for name in QUICK:
        found = experiment(name)
        assert {v.elsewhere for v in judged(found, found.cells("quick"))} == {""}
