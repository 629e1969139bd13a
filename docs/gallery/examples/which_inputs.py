"""Which inputs does a model use?

The target depends on two of ten inputs by their product, which no sum of effects of single inputs
sees. A recursive feature machine learns a metric from gradients of its own predictions.
"""

import matplotlib.pyplot as plt
import numpy as np

from gradfeat import KernelRegressor, RFMRegressor

rng = np.random.default_rng(0)
X = rng.standard_normal((800, 10))
y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(800)
kernel = KernelRegressor().fit(X[:400], y[:400])
rfm = RFMRegressor().fit(X[:400], y[:400])
print(f"R2 of the kernel {kernel.score(X[400:], y[400:]):.2f}")
print(f"R2 of the RFM    {rfm.score(X[400:], y[400:]):.2f}")

figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.bar([f"x{j}" for j in range(10)], rfm.importances_)
ax.set_ylabel("share of the AGOP")
figure.savefig("figure.png", dpi=110)
