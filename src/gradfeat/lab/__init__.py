"""Experiments: run a grid of trials into a store, and judge the claims of a source by it."""

from gradfeat.errors import ExperimentError, StoreError
from gradfeat.lab.claims import (
    Claim,
    Verdict,
    above,
    agrees,
    below,
    each,
    every,
    greater,
    ordered,
    ratio,
    slope,
    within,
)
from gradfeat.lab.experiment import Experiment
from gradfeat.lab.run import run
from gradfeat.lab.store import Store
from gradfeat.lab.sweep import Progress
from gradfeat.lab.verdicts import judge

__all__ = [
    "Claim",
    "Experiment",
    "ExperimentError",
    "Progress",
    "Store",
    "StoreError",
    "Verdict",
    "above",
    "agrees",
    "below",
    "each",
    "every",
    "greater",
    "judge",
    "ordered",
    "ratio",
    "run",
    "slope",
    "within",
]
