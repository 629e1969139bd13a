"""Experiments: run a grid of trials into a store, and judge the claims of a source by it."""

from gradfeat.experiments.claims import (
    Claim,
    Verdict,
    above,
    agrees,
    below,
    each,
    every,
    greater,
    judge,
    ordered,
    slope,
    within,
)
from gradfeat.experiments.errors import ExperimentError, StoreError
from gradfeat.experiments.experiment import Experiment
from gradfeat.experiments.run import run
from gradfeat.experiments.store import Store
from gradfeat.experiments.sweep import Progress

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
    "run",
    "slope",
    "within",
]
