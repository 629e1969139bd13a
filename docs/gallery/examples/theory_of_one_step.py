"""What theory promises of one gradient step

The test error of a network after one step of size n^alpha, from formulas alone, against random
features and the best linear model.
"""

import matplotlib.pyplot as plt
import numpy as np

from gradfeat.maths.activations import CentredReLU
from gradfeat.theory.predicted_errors import predict_error
from gradfeat.theory.teacher import Teacher

teacher = Teacher.single((0.0, 1.0, 0.5**0.5))
alphas = np.linspace(0, 0.45, 19)
found = [predict_error(0.1, 0.2, CentredReLU(), teacher, n=4_000, alpha=a) for a in alphas]
print(f"random features {float(found[0].random_features.test_error):.2f}")
print(f"after a step of n^0.45 {float(found[-1].errors.test_error):.2f}")

figure, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
ax.plot(alphas, [float(f.errors.test_error) for f in found], label="after the step")
ax.axhline(float(found[0].random_features.test_error), ls=":", color="k", label="random features")
ax.axhline(found[0].best_linear, ls="--", color="grey", label="best linear model")
ax.set(xlabel="alpha, of the step size n^alpha", ylabel="test error")
ax.legend()
figure.savefig("figure.png", dpi=110)
