"""Settings of every experiment that run in a second or two: of later ones, those of their own."""

from __future__ import annotations

from typing import Any

CELLS: dict[str, dict[str, Any]] = {
    "shi22-accuracy": {
        "d": 24,
        "D": 16,
        "k": 3,
        "m": 32,
        "steps": 6,
        "n_first": 200,
        "n_batch": 50,
        "n_fixed": 100,
        "n_test": 200,
    },
    "shi22-emergence": {"n": [200, 1_000], "d": 24, "D": 16, "k": 3, "m": 40},
    "shi22-real": {"pair": "0/1", "m": 30, "steps": 4, "n": 150},
    "shi22-bounds": {"k": 5, "C": 0.01, "m": 10, "n": 200, "n_test": 300},
    "shi22-teacher-mix": {"pair": "0/1", "m": 20, "steps": 8, "n_test": 100},
    "damian22-samples": {"n": [40, 80], "d": 4, "m": 20, "n_test": 100},
    "damian22-transfer": {"d": 4, "power": [-1, 0, 2], "N": [10, 20], "m": 20, "n_test": 100},
    "damian22-gradient": {"d": [5, 8], "bias": [0.0, 0.5], "r": [1, 2], "m": 10, "n": 500},
    "damian22-degenerate": {"d": [4, 6], "ratio": [1.0, 4.0], "p": 3, "m": 20, "n_test": 100},
    "adapt-support": {"d": [4, 6], "n": [30, 60], "m": 20, "n_test": 100},
    "adapt-smooth": {"s": [0, 2], "n": [30, 60], "m": 20, "n_test": 100},
    "adapt-latent": {"d": [4, 8], "n": 40, "m": 10, "steps": 2, "updates": 1, "n_test": 50},
    "moniri24-equivalence": {
        "phi": 0.5,
        "psi": [0.25, 1.0],
        "lam": [0.001, 0.1],
        "n": 40,
        "targets": 3,
        "n_test": 30,
    },
    "ba22-step-size": {"d": [5, 8], "n_test": 50},
    "kernel-cost": {"n": [60, 120], "d": 4, "bandwidth": 2.0, "penalty": 1e-3, "n_test": 100},
    "moniri24-errors": {"alpha": [-0.2, 0.1, 0.3], "setting": [1, 2], "n": [60, 80]},
    "moniri24-spectrum": {
        "alpha": [-0.1, 0.3],
        "activation": ["sine", "tanh"],
        "n": 200,
        "d": 40,
        "N": 20,
    },
    "rad24-features": {
        "layers": [2, 3],
        "pair": ["3/8"],
        "n": 60,
        "width": 20,
        "steps": 40,
        "rounds": 2,
    },
    "rad24-lowrank": {
        "round": [0, 1, 2],
        "d": 6,
        "n": 60,
        "bandwidth": 5.0,
        "n_test": 50,
    },
    "shi23-cases": {
        "d": 22,
        "n": 500,
        "neurons": 1_100,
        "m": 8,
        "steps": 5,
        "n_test": 50,
        "n_opt": 40,
        "units": 1,
    },
    "shi23-lottery": {
        "share": [0.1, 0.5],
        "n": 200,
        "neurons": 1_100,
        "m": 8,
        "steps": 5,
        "n_test": 50,
    },
    "shi23-shift": {
        "p_uniform": 1.0,
        "d": 8,
        "D": 6,
        "k": 3,
        "m": 8,
        "steps": 4,
        "n_first": 60,
        "n_batch": 20,
        "neurons": 200,
        "n_test": 50,
    },
    "shi23-simplicity": {
        "predictive": [0.5, 0.9, 1.0],
        "d": 4,
        "m": 8,
        "steps": 4,
        "n_batch": 20,
        "n_mass": 60,
        "neurons": 200,
        "n_test": 50,
    },
}

#: Values of factors that came after the frozen tree, by experiment: their rows are not compared.
LATER: dict[str, dict[str, list[Any]]] = {
    "adapt-latent": {"target": ["cubic"]},
    "damian22-samples": {"method": ["both layers"]},
    "moniri24-errors": {"rows": ["gaussian"]},
    "rad24-features": {"noise": [1.5]},
    "shi22-accuracy": {"p_o": [0.1, 0.25]},
    "shi22-emergence": {"map_neurons": [0]},
    "shi22-real": {"training": ["plain", "small"]},
    "shi23-cases": {"r": [2, 3]},  # of r = 3 the step and a bound are others
}


def small(found: Any) -> dict[str, Any]:
    """Of an experiment of the frozen tree, as it ran there; of a newer one, its own."""
    return CELLS.get(found.name) or dict(found.small)
