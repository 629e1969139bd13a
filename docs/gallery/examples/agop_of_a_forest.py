"""Directions of any model

The average gradient outer product needs predictions alone, so a boosted forest of scikit-learn has
one too. Its first eigenvector is the direction along which the predictions change most.
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import gradfeat

rng = np.random.default_rng(0)
X = rng.standard_normal((2_000, 6))
u = np.array([0.6, 0.8, 0, 0, 0, 0])
y = np.tanh(2 * X @ u)
trees = HistGradientBoostingRegressor(random_state=0).fit(X, y)
found = gradfeat.agop(trees, X, step=0.3, random_state=0)
values, vectors = np.linalg.eigh(found)
print(f"share of the first eigenvalue {values[-1] / values.sum():.2f}")
print(f"its |cos| with the truth      {abs(vectors[:, -1] @ u):.2f}")
