"""Learned directions in a pipeline

`AGOPTransformer` gives the inputs along the directions that a recursive feature machine found; what
comes after them is scikit-learn's.
"""

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gradfeat import AGOPTransformer

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 12))
y = np.abs(X[:, 0] - X[:, 1])
plain = make_pipeline(StandardScaler(), KNeighborsRegressor(10))
learned = make_pipeline(AGOPTransformer(2), KNeighborsRegressor(10))
for name, model in (("nearest neighbours", plain), ("along two directions", learned)):
    print(f"{name:21} R2 {cross_val_score(model, X, y, cv=3).mean():.2f}")
