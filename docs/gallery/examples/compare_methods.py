"""Does feature learning help on this table?

`compare` fits methods with fixed and with learned features to the same training rows, and says
whether the difference on test rows is more than chance.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import gradfeat

table = load_diabetes(as_frame=True).frame
found = gradfeat.compare(table, "target", methods=["linear", "kernel", "rfm"], time=20)
print(found.verdict)

figure, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
found.plot.comparison(ax=ax)
figure.savefig("figure.png", dpi=110)
