"""How often `gradfeat diagnose` names a wrong exponent or number of directions.

    python benchmarks/diagnose_errors.py [--draws 50] [--target he4 ...]

Single-index data y = g(u.x), x ~ N(0, I_10), n = 5,000, E g^2 = 1, no noise; and pure noise.
g = He_1 + He_2, He_2 + He_4 (both at equal shares), He_3, He_4, each normalised. A draw is right
when the exponent is the true one and one direction is counted, or, for noise, when there is no
evidence at any degree. "Shuffles alone" names the exponent as a test without random signs would.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter

import torch
from common import machine

from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.streams import null_draws, p_value, stream
from gradfeat.table.diagnose import DRAWS, LEVEL, Statistics, statistics
from gradfeat.table.diagnosis_rows import standard_inputs
from gradfeat.tasks.single_index import SingleIndex, he2_he4

ROWS, INPUTS = 5_000, 10

TARGETS: dict[str, tuple[HermiteSeries | None, int | None]] = {
    "noise": (None, None),
    "he1+he2": (HermiteSeries((0.0, math.sqrt(0.5), 0.5)), 1),
    "he2+he4": (he2_he4(), 2),
    "he3": (HermiteSeries((0.0, 0.0, 0.0, 1 / math.sqrt(6))), 3),
    "he4": (HermiteSeries((0.0, 0.0, 0.0, 0.0, 1 / math.sqrt(24))), 4),
}


def drawn(series: HermiteSeries | None, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets of one draw."""
    generator = stream(seed, "data")
    if series is None:
        X = torch.randn(ROWS, INPUTS, generator=generator, dtype=torch.float64)
        return X, torch.randn(ROWS, 1, generator=generator, dtype=torch.float64)
    sample = SingleIndex(INPUTS, series, seed=seed).sample(ROWS, generator)
    return sample.X, sample.y


def by_shuffles(stats: Statistics) -> int | None:
    """Exponent that the shuffles alone would name."""
    level = LEVEL / len(stats.tests)
    seen = []
    for test in stats.tests:
        if p_value(test.strength, test.null[0]) <= level:
            seen.append(test.degree)
    return min(seen, default=None)


def main() -> None:
    """Print one row a target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--target", nargs="*", choices=TARGETS, default=list(TARGETS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    print("| target | wrong exponent | wrong number | exponents | numbers | shuffles alone |")
    print("|---|---|---|---|---|---|")
    for name in options.target:
        series, exponent = TARGETS[name]
        exponents, numbers, alone = Counter(), Counter(), Counter()
        for seed in range(options.draws):
            X, y = drawn(series, seed)
            Z = standard_inputs(X.numpy()).whitened
            stats = statistics(Z, y, null_draws(len(Z), DRAWS, seed), lambda _: None)
            exponents[stats.exponent] += 1
            numbers[stats.directions.directions.shape[1]] += 1
            alone[by_shuffles(stats)] += 1
        wrong = options.draws - exponents[exponent]
        number = options.draws - numbers[0 if exponent is None else 1]
        counts = " | ".join(str(dict(c)) for c in (exponents, numbers, alone))
        print(f"| {name} | {wrong} | {number} | {counts} |", flush=True)


if __name__ == "__main__":
    main()
