"""Empirical tangent kernels of finite networks, in tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, vmap

from ...maths.memory import BLOCK_BYTES, rows_per_block, slices
from ..base import BlockKernel
from ..tangent_ridge import neurons, tangent_kernel
from ..two_layer import TwoLayer

#: What `spec` says of a kernel that is a network.
UNSAVED = "The tangent kernel of a network cannot be saved: save the network and form it again."


@final
@dataclass(frozen=True, eq=False)
class TwoLayerTangent(BlockKernel):
    """k(x, z) = df(x)/dtheta . df(z)/dtheta over W, b and a of a two-layer network.

    `net`: A network of one output; its affine part is not among the parameters.
    `block_bytes`: Bytes of features that are held at once.

    Source: Jacot, Gabriel & Hongler 2018; :func:`gradfeat.models.tangent_ridge.tangent_kernel`.
    """

    net: TwoLayer
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        if self.net.a.shape[1] != 1:
            raise ValueError(
                f"the network has {self.net.a.shape[1]} outputs: give one of a single output, or "
                "a torch module to ModuleTangent, which sums over outputs."
            )

    @property
    def scratch(self) -> int:
        """The result and one product of features; features come in blocks of their own."""
        return 3

    def _step(self) -> int:
        return rows_per_block(8 * len(self.net.b) * self.net.W.element_size(), self.block_bytes)

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        K = X.new_empty(len(X), len(Z))
        for rows in slices(len(X), self._step()):
            for columns in slices(len(Z), self._step()):
                K[rows, columns] = tangent_kernel(self.net, X[rows], Z[columns])
        return _symmetric(K) if X is Z else K

    def diagonal(self, X: Tensor) -> Tensor:
        """|sigma|^2 + (1 + |x|^2) |a sigma'|^2."""
        parts = [neurons(self.net, rows) for rows in X.split(self._step())]
        own = [torch.stack([A.square().sum(1), S.square().sum(1)]) for _, A, S in parts]
        A, S = torch.cat([X.new_zeros(2, 0), *own], 1)
        return A + (1 + X.square().sum(1)) * S

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        """W^T [sigma' alpha + a sigma'' (beta + gamma x)] + gamma^T (a sigma'), per output.

        alpha, beta and gamma are the sums of c_j (sigma, a sigma', a sigma' z^T) over the z_j.
        """
        net, outputs = self.net, range(c.shape[1])
        alpha = X.new_zeros(len(net.b), c.shape[1])
        beta, gamma = alpha.clone(), [torch.zeros_like(net.W) for _ in outputs]
        for rows in slices(len(Z), self._step()):
            _, A, S = neurons(net, Z[rows])
            alpha += A.T @ c[rows]
            beta += S.T @ c[rows]
            for k in outputs:
                gamma[k] += S.T @ (c[rows, k : k + 1] * Z[rows])
        J = X.new_empty(len(X), c.shape[1], X.shape[1])
        for rows in slices(len(X), self._step()):
            pre, _, S = neurons(net, X[rows])
            slope, bend = net.activation.derivative(pre), _second_derivative(net, pre)
            bend *= net.a[:, 0]
            for k in outputs:
                inner = slope * alpha[:, k] + bend * (beta[:, k] + X[rows] @ gamma[k].T)
                J[rows, k] = inner @ net.W + S @ gamma[k]
        return J

    def spec(self) -> Mapping[str, Any]:
        raise ValueError(UNSAVED)


@final
@dataclass(frozen=True, eq=False)
class ModuleTangent(BlockKernel):
    """k(x, z) = sum_o df_o(x)/dtheta . df_o(z)/dtheta over outputs o and all parameters theta.

    Jacobians exist for a tile of rows at a time, never whole; rows of Z are visited again for each
    tile of X. Parameters that do not require a gradient are left out.

    `module`: Maps (n, d) to (n,) or (n, outputs), row by row (no batch normalisation, no dropout),
        with parameters of the dtype and device of the inputs. Its gradient needs it twice
        differentiable (almost everywhere will do).
    `block_bytes`: Bytes of Jacobians that are held at once.

    Source: Novak, Sohl-Dickstein & Schoenholz 2022 (trace over outputs, Jacobian contraction).
    """

    module: nn.Module
    block_bytes: int = BLOCK_BYTES
    theta: dict[str, Tensor] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        theta = {k: p.detach() for k, p in self.module.named_parameters() if p.requires_grad}
        if not theta:
            raise ValueError(
                "the module has no parameter that requires a gradient: give one that has."
            )
        object.__setattr__(self, "theta", theta)

    @property
    def scratch(self) -> int:
        """The result; Jacobians come in blocks of their own."""
        return 2

    def _outputs(self, theta: dict[str, Tensor], X: Tensor) -> Tensor:
        return functional_call(self.module, theta, (X,)).reshape(len(X), -1)

    def _rows(self, X: Tensor) -> int:
        """Rows of Jacobians, theirs and their derivation's, of half a block."""
        outputs = self._outputs(self.theta, X[:1]).shape[1]
        each = sum(p.numel() for p in self.theta.values()) * outputs * X.element_size()
        return rows_per_block(4 * each, self.block_bytes)

    def _jacobian(self, X: Tensor) -> Tensor:
        """(n, outputs * parameters)."""

        def one(x: Tensor) -> dict[str, Tensor]:
            return jacrev(lambda theta: self._outputs(theta, x[None])[0])(self.theta)

        return torch.cat([part.flatten(1) for part in vmap(one)(X).values()], 1)

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        K = X.new_zeros(len(X), len(Z))
        if K.numel() == 0:
            return K
        step = self._rows(X)
        for rows in slices(len(X), step):
            J = self._jacobian(X[rows])
            for columns in slices(len(Z), step):
                same = X is Z and rows == columns
                K[rows, columns] = J @ (J if same else self._jacobian(Z[columns])).T
        return _symmetric(K) if X is Z else K

    def diagonal(self, X: Tensor) -> Tensor:
        parts = [self._jacobian(X[rows]).square().sum(1) for rows in slices(len(X), self._rows(X))]
        return torch.cat(parts)

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        """Input gradient of sum_o df_o(x)/dtheta . v_o, v_o = sum_j c_j df_o(z_j)/dtheta."""
        columns = [self._pulled(X, self._directions(Z, c[:, k])) for k in range(c.shape[1])]
        return torch.stack(columns, 1)

    def _directions(self, Z: Tensor, c: Tensor) -> list[dict[str, Tensor]]:
        """v_o for each output, by one backward pass each."""
        outputs = range(self._outputs(self.theta, Z[:1]).shape[1])

        def weighted(theta: dict[str, Tensor], o: int) -> Tensor:
            return c @ self._outputs(theta, Z)[:, o]

        return [grad(weighted)(self.theta, o) for o in outputs]

    def _pulled(self, X: Tensor, directions: list[dict[str, Tensor]]) -> Tensor:
        """Rows do not interact: the gradient of the sum over rows has theirs."""

        def total(X: Tensor) -> Tensor:
            moved = [grad(self._sum_of_output)(self.theta, X, o) for o in range(len(directions))]
            pairs = zip(moved, directions, strict=True)
            return torch.stack([(m[k] * v[k]).sum() for m, v in pairs for k in v]).sum()

        return grad(total)(X)

    def _sum_of_output(self, theta: dict[str, Tensor], X: Tensor, o: int) -> Tensor:
        return self._outputs(theta, X)[:, o].sum()

    def spec(self) -> Mapping[str, Any]:
        raise ValueError(UNSAVED)


def _second_derivative(net: TwoLayer, pre: Tensor) -> Tensor:
    """sigma'' by automatic differentiation; zero at and between kinks."""
    with torch.enable_grad():
        z = pre.detach().requires_grad_()
        slope = net.activation.derivative(z) + 0 * z
        return torch.autograd.grad(slope.sum(), z)[0]


def _symmetric(K: Tensor) -> Tensor:
    return (K + K.T).div_(2)
