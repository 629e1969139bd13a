"""A kernel of one's own

A radial kernel is its profile and its slope, with s = |x - z|^2 / bandwidth^2. Gradients, metrics
and the recursive feature machine follow.
"""

from dataclasses import dataclass

import torch

from gradfeat.models.kernels.radial import RadialKernel
from gradfeat.models.rfm import RFM
from gradfeat.rows import in_memory


@dataclass(frozen=True)
class InverseMultiquadric(RadialKernel):
    """k = (1 + s)^(-1/2)."""

    def profile_(self, s):
        return s.add_(1).rsqrt_()

    def slope_(self, s):
        return s.add_(1).pow_(-1.5).mul_(-0.5)

    def slope_from(self, s, K):
        return K.pow(3).mul_(-0.5)


X = torch.randn(500, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
y = (X[:, :1] * X[:, 1:2]).tanh()
f = RFM(InverseMultiquadric(3.0), alpha=1e-3, n_iter=4).fit(in_memory(X, y))
share = f.agop(X).diagonal()
print("shares of the AGOP", [round(v, 2) for v in (share / share.sum()).tolist()])
