"""What a file of the catalogue imports: its words, claims and theory do without its simulation."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gradfeat.lab.loading import names

#: Judges the claims of each experiment on numbers made up for its quick grid: every metric that a
#: claim asks for becomes a column of random numbers.
PROGRAM = """
import re, sys
import numpy as np, pandas as pd
from gradfeat.lab.loading import experiment
from gradfeat.lab.verdicts import judge

def judged(found, table):
    while True:
        verdicts = [verdict for _, verdict in judge(found, table)]
        unchecked = [v.words for v in verdicts if v.outcome == "cannot be checked"]
        if not unchecked:
            return
        missing = re.search(r"checked: '+(\\w+)'+", unchecked[0])
        if missing is None or missing[1] in table:
            sys.exit(unchecked[0])
        table[missing[1]] = 1 + np.random.default_rng(0).random(len(table))

for name in sys.argv[1:]:
    found = experiment(name)
    cells = found.cells("quick")
    judged(found, pd.DataFrame([{**cell, "seed": s} for cell in cells for s in range(2)]))
print([name for name in ("torch", "scipy.stats", "matplotlib") if name in sys.modules])
"""

#: Their theory takes moments of tanh, erf and the like, which are torch's functions.
WITH_TORCH = ("ba22-step-size", "moniri24-equivalence", "moniri24-errors", "moniri24-spectrum")
QUICK = ("adapt-smooth", "damian22-gradient", "rad24-lowrank", "shi22-bounds", "shi23-lottery")


@pytest.mark.parametrize(
    "of",
    [
        QUICK,
        pytest.param([n for n in names() if n not in WITH_TORCH + QUICK], marks=pytest.mark.slow),
    ],
    ids=["some", "the others"],
)
def test_claims_are_judged_without_what_simulates(of):
    command = [sys.executable, "-c", PROGRAM, *of]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
