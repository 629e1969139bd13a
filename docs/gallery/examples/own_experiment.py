"""An experiment of one's own

A trial returns numbers of one setting and seed; a claim is judged from one value a seed, with its
interval.
"""

import numpy as np

from gradfeat.lab import Experiment, above, judge, run


def trial(n: int, d: int = 50, *, seed: int) -> dict[str, float]:
    """|cos| of X^T y / n with the direction of a linear target."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    beta = X.T @ X[:, 0] / n
    return {"cosine": abs(beta[0]) / np.linalg.norm(beta)}


found = Experiment(
    "cosines", "How many rows show a direction?", trial, {"quick": {"n": [50, 100, 400]}},
    checks={"Eight times d rows are enough for 0.9. [Moniri24]": above("cosine", 0.9, {"n": 400})},
    seeds=20,
)  # fmt: skip
table = run(found)
print(table.groupby("n")["cosine"].mean().round(2).to_dict())
for claim, verdict in judge(found, table):
    print(claim.text, verdict.outcome, verdict.words)
