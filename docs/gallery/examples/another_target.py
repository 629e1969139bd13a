"""Features of one target for another

`refit_head` keeps the learned first layer and fits its head to a new target. Forty rows are enough
where the new target lies on the same directions.
"""

import numpy as np

from gradfeat import GradientFeatureRegressor

X = np.random.default_rng(0).standard_normal((1_500, 30))
first, second = X[:, 0] * X[:, 1], np.abs(X[:, 0] + X[:, 1])
few, test = slice(1_000, 1_040), slice(1_040, None)
source = GradientFeatureRegressor(n_steps=None).fit(X[:1_000], first[:1_000])
moved = source.refit_head(X[few], second[few])
alone = GradientFeatureRegressor(n_steps=None).fit(X[few], second[few])
for name, model in (("with the features of the first target", moved), ("alone", alone)):
    print(f"R2 of 40 rows {name:37} {model.score(X[test], second[test]):.2f}")
