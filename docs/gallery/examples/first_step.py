"""What would a first gradient step find?

`diagnose` looks for signal of each degree before any method is chosen. Only degrees up to the
information exponent decide whether a first gradient sees a direction.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gradfeat

rng = np.random.default_rng(0)
table = pd.DataFrame(rng.standard_normal((2_000, 8)), columns=list("abcdefgh"))
table["y"] = table["a"] ** 2 - 1 + 0.2 * rng.standard_normal(2_000)
found = gradfeat.diagnose(table, "y", time=20)
print(found.verdict)

figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
found.plot.degrees(ax=ax)
figure.savefig("figure.png", dpi=110)
