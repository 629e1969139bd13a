"""Intervals that hold

Split conformal intervals from held-out rows: 90 % of new rows lie inside, whatever the
distribution, if new rows come as the held-out ones did.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gradfeat

rng = np.random.default_rng(0)
table = pd.DataFrame({"x": rng.uniform(-3, 3, 900)})
table["y"] = np.sin(2 * table["x"]) + 0.2 * rng.standard_normal(900)
new = table[600:].sort_values("x")
model = gradfeat.compare(table[:600], "y", methods=["kernel"], time=10).best
p = model.predictions(new, interval=90)
print(f"inside: {new['y'].between(p['low_y'].to_numpy(), p['high_y'].to_numpy()).mean():.0%}")

figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.plot(new["x"], new["y"], ".", ms=3, label="new rows")
ax.plot(new["x"], p["predicted_y"], label="prediction")
ax.fill_between(new["x"], p["low_y"], p["high_y"], alpha=0.25, label="90 %")
ax.legend(ncols=3)
figure.savefig("figure.png", dpi=110)
