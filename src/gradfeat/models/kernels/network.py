"""Kernels of networks: NNGP and NTK of infinitely wide ones, tangent kernels of finite ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, final

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, vmap

from ...maths.activations import Activation, CentredReLU, Erf, ReLU
from ...maths.limits import BLOCK_BYTES, rows_per_block, slices
from ..base import BlockKernel
from ..predictors import TwoLayer
from ..tangent_ridge import neurons, tangent_kernel
from .duals import CentredReLUDual, Dual, ErfDual, HermiteDual, ReLUDual
from .radial import check_bandwidth
from .rotation_invariant import Pairs, RotationInvariantKernel, Side

Trained = Literal["all", "head", "hidden"]


@final
@dataclass(frozen=True)
class NetworkKernel(RotationInvariantKernel):
    """Kernel of a network of infinite width, S_depth (NNGP) or T_depth (NTK).

    The network has z_0 = (weight/L) W_0 x + bias b_0 and, at width m,
    z_l = (weight/sqrt m) W_l sigma(z_{l-1}) + bias b_l, all entries of W_l and b_l from N(0, 1);
    its output is z_depth. With S_0 = T_0 = weight^2 x.z / L^2 + bias^2 and (U, V) ~ N(0, S_{l-1}),

    S_l = weight^2 E sigma(U) sigma(V) + bias^2,
    T_l = S_l + weight^2 E sigma'(U) sigma'(V) T_{l-1}.

    This is `neural_tangents.stax` with W_std = weight, b_std = bias and L = sqrt(d).

    `activation`: sigma. Closed forms for ReLU, centred ReLU and erf; others by
        :class:`HermiteDual`, which states the error.
    `depth`: Hidden layers, at least 1.
    `weight, bias`: Standard deviations: weight positive, bias not negative.
    `trained`: T_depth, S_depth, or their difference (the NTK with a frozen head).
    `bandwidth`: L, positive; None is sqrt(d).

    Source: Jacot, Gabriel & Hongler 2018, Theorem 1; Lee et al. 2018 (NNGP).

    >>> x = torch.ones(1, 1)
    >>> float(NetworkKernel()(x, x)), float(NetworkKernel(trained="head")(x, x))
    (1.0, 0.5)
    """

    activation: Activation = field(default_factory=ReLU)
    depth: int = 1
    weight: float = 1.0
    bias: float = 0.0
    trained: Trained = "all"
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"depth is {self.depth}: give the number of hidden layers, 1 or more.")
        if not (self.weight > 0 and self.bias >= 0 and math.isfinite(self.weight + self.bias)):
            raise ValueError(
                f"weight is {self.weight} and bias {self.bias}: give a positive weight and a bias "
                "that is not negative, both finite."
            )
        if self.trained not in ("all", "head", "hidden"):
            raise ValueError(
                f"trained is {self.trained!r}: allowed are 'all', 'head' and 'hidden'."
            )
        check_bandwidth(self.bandwidth)

    def scale(self, d: int) -> float:
        """L / weight."""
        return (math.sqrt(d) if self.bandwidth is None else self.bandwidth) / self.weight

    @property
    def shift(self) -> float:
        """The bias is a constant input."""
        return self.bias

    def sides(self, norm: Tensor) -> tuple[Side, ...]:
        """Standard deviations of the pre-activations, layer by layer."""
        dual = dual_of(self.activation)
        sides = [dual.side(norm)]
        while len(sides) < self.depth:
            own = self.weight**2 * sides[-1].own + self.bias**2
            sides.append(dual.side(own.sqrt()))
        return tuple(sides)

    def values_(self, left: Sequence[Side], right: Sequence[Side], h: Tensor) -> Tensor:
        dual, w2, b2 = dual_of(self.activation), self.weight**2, self.bias**2
        tangent = Pairs(left[0], right[0], h).product()
        for here, below in itertools.pairwise(zip(left, right, strict=True)):
            s = Pairs(*here, h)
            value, slope = dual.moments(s)
            h = self._next_half_angle(dual, s, value, below)
            tangent.mul_(slope).add_(value).mul_(w2).add_(b2)
        value, slope = dual.moments(Pairs(left[-1], right[-1], h))
        match self.trained:
            case "all":
                return value.addcmul_(slope, tangent).mul_(w2).add_(b2)
            case "head":
                return value.mul_(w2).add_(b2)
            case "hidden":
                return slope.mul_(tangent).mul_(w2)

    def _next_half_angle(
        self, dual: Dual, s: Pairs, value: Tensor, below: tuple[Side, Side]
    ) -> Tensor:
        """(1 - u / ab) / 2 at the next layer, without cancellation.

        With A^2 and B^2 the weights' share of a^2 and b^2, ab - u is weight^2 times the loss of the
        dual, and bias^2 (A - B)^2 / (ab + AB + bias^2).
        """
        w2, b2, a, b = self.weight**2, self.bias**2, below[0].norm, below[1].norm
        lost = dual.loss(s, value).mul_(w2)
        if b2 > 0:
            A, B = self.weight * s.left.own.sqrt(), self.weight * s.right.own.sqrt()
            lost.add_((A - B).square_().div_((a * b).addcmul_(A, B).add_(b2)), alpha=b2)
        return lost.div_(b).div_(a).div_(2).nan_to_num_(0.0).clamp_(0, 1)

    def slopes(
        self, left: Sequence[Side], right: Sequence[Side], h: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The recursion, differentiated in u and p of the first layer."""
        dual, w2 = dual_of(self.activation), self.weight**2
        tangent = Pairs(left[0], right[0], h).product()
        du = dt = hidden = torch.ones_like(h), torch.zeros_like(h)
        dp = torch.ones_like(left[0].norm)
        for layer in range(self.depth):
            s = Pairs(left[layer], right[layer], h)
            value, slope = dual.moments(s)
            moves = dual.slopes(s)
            hidden = (
                w2 * (slope * dt[0] + tangent * moves.slope_u * du[0]),
                w2 * (slope * dt[1] + tangent * (moves.slope_u * du[1] + moves.slope_p * dp)),
            )
            du = w2 * slope * du[0], w2 * (slope * du[1] + moves.value_p * dp)
            if layer + 1 < self.depth:
                h = self._next_half_angle(dual, s, value, (left[layer + 1], right[layer + 1]))
                tangent = w2 * (value + slope * tangent) + self.bias**2
                dt = du[0] + hidden[0], du[1] + hidden[1]
                dp = w2 * _growth(dual, left[layer]) * dp
        match self.trained:
            case "all":
                return du[0] + hidden[0], du[1] + hidden[1]
            case "head":
                return du
            case "hidden":
                return hidden

    def spec(self) -> Mapping[str, Any]:
        return {"name": "NetworkKernel", **asdict(self), "activation": self.activation.spec()}


_CLOSED: tuple[tuple[Activation, Dual], ...] = (
    (ReLU(), ReLUDual()),
    (CentredReLU(), CentredReLUDual()),
    (Erf(), ErfDual()),
)


def dual_of(activation: Activation) -> Dual:
    """Closed form where there is one, else the Hermite series."""
    closed = (dual for own, dual in _CLOSED if own == activation)
    return next(closed, HermiteDual(activation))


def _growth(dual: Dual, side: Side) -> Tensor:
    """d E sigma(aZ)^2 / d a^2 = E sigma'(aZ)^2 + E sigma''(aZ) sigma(aZ)."""
    s = Pairs.equal(side)
    return dual.moments(s)[1] + 2 * dual.slopes(s).value_p


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
