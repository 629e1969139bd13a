"""Rows that stay on disk

The same estimator, fitted to arrays and to files that are read chunk by chunk: sums over rows are
the same to rounding.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from gradfeat import LinearRegressor, rows

X = np.random.default_rng(0).standard_normal((20_000, 4))
y = X @ np.array([1.0, -2.0, 0.0, 0.5]) + 3
Path("parts").mkdir()
for part in range(4):
    one = pd.DataFrame(X[part::4], columns=list("abcd")).assign(y=y[part::4])
    one.to_parquet(f"parts/{part}.parquet")
held = LinearRegressor(alpha=1e-6).fit(X, y)
streamed = LinearRegressor(alpha=1e-6).fit(rows.from_parquet("parts", target="y"))
print("differ by less than 1e-9:", np.abs(held.predict(X) - streamed.predict(X)).max() < 1e-9)
