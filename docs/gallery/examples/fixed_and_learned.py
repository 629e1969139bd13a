"""One gradient step against fixed features

The same width, the same ridge head: only the first layer differs. The target depends on one of 30
directions.
"""

import matplotlib.pyplot as plt
import numpy as np

from gradfeat import GradientFeatureRegressor, RandomFeaturesRegressor

rng = np.random.default_rng(0)
X = rng.standard_normal((2_500, 30))
u = X @ np.full(30, 30**-0.5)
y = u + 0.5 * (u**2 - 1)
sizes, test = [100, 200, 400, 800, 1_500], slice(1_500, None)
figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
for model in (RandomFeaturesRegressor(width=512), GradientFeatureRegressor(width=512)):
    scores = [model.fit(X[:n], y[:n]).score(X[test], y[test]) for n in sizes]
    name = type(model).__name__
    print(f"{name:25} R2 {' '.join(f'{score:.2f}' for score in scores)}")
    ax.plot(sizes, scores, "o-", label=name)
ax.set(xscale="log", xlabel="rows", ylabel="R2 on new rows")
ax.legend()
figure.savefig("figure.png", dpi=110)
