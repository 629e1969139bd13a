"""The ansatz against matrices formed from all gradients, and on networks that satisfy it."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from gradfeat import agop, neural_feature_ansatz
from gradfeat.maths.linear_algebra import flat_cosine

X = torch.randn(60, 6, generator=torch.Generator().manual_seed(0)).double()


def network(*parts: nn.Module, seed: int = 0) -> nn.Sequential:
    """The parts with Gaussian weights."""
    net = nn.Sequential(*parts).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return net


def square(layer: nn.Module) -> Tensor:
    """WᵀW."""
    W = next(layer.parameters()).detach().flatten(1)
    return W.T @ W


def test_each_layer_equals_the_agop_of_what_follows_it() -> None:
    net = network(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5), nn.Softplus(), nn.Linear(5, 3))
    rows = neural_feature_ansatz(net, X, batch_size=7)
    assert [(r.layer, r.kind, r.outputs, r.inputs) for r in rows] == [
        ("0", "Linear", 8, 6),
        ("2", "Linear", 5, 8),
        ("4", "Linear", 3, 5),
    ]
    for row, start in zip(rows, (0, 2, 4), strict=True):
        with torch.no_grad():
            hidden = net[:start](X)
        G = agop(net[start:], hidden, standardise=False)
        assert row.cosine == pytest.approx(flat_cosine(square(net[start]), G), rel=1e-10)
        assert math.isnan(row.cosine_change)
    assert rows[2].cosine == pytest.approx(1)  # the last layer is the output


def test_a_network_of_one_direction_satisfies_it_and_a_random_one_does_not() -> None:
    net = network(nn.Linear(6, 200), nn.ReLU(), nn.Linear(200, 1))
    random = neural_feature_ansatz(net, X)[0].cosine
    u = torch.linspace(-1, 1, 6).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.randn(200, 1).double() * u)
    assert neural_feature_ansatz(net, X)[0].cosine == pytest.approx(1)
    # W^T W is near the identity, the AGOP of one output near rank two: cosine near sqrt(2/6).
    assert random < 0.75


def test_balanced_linear_layers_satisfy_it_with_power_one_half() -> None:
    """A^T A = W W^T gives the AGOP W^T A^T A W = (W^T W)^2 (Arora, Cohen & Hazan 2018)."""
    net = network(nn.Linear(6, 4, bias=False), nn.Linear(4, 4, bias=False))
    W = net[0].weight.detach()
    values, vectors = torch.linalg.eigh(W @ W.T)
    with torch.no_grad():
        net[1].weight.copy_(values.sqrt()[:, None] * vectors.T)
    half, whole = (neural_feature_ansatz(net, X, power=p)[0].cosine for p in (0.5, 1.0))
    assert half == pytest.approx(1, rel=1e-10)
    assert whole < 0.99


def test_initial_weights_are_removed() -> None:
    net = network(nn.Linear(6, 50, bias=False), nn.Tanh(), nn.Linear(50, 1))
    start = copy.deepcopy(net)
    same = neural_feature_ansatz(net, X, initial=start)[0]
    assert math.isnan(same.cosine_change)
    with torch.no_grad():
        net[0].weight.add_(torch.randn(50, 6, generator=torch.Generator().manual_seed(1)))
    row = neural_feature_ansatz(net, X, initial=start)[0]
    V = (net[0].weight - start[0].weight).detach()
    G = agop(net, X, standardise=False)
    assert row.cosine_change == pytest.approx(flat_cosine(V.T @ V, G), rel=1e-10)
    assert row.cosine == pytest.approx(flat_cosine(square(net[0]), G), rel=1e-10)


def test_convolutions_are_compared_by_patches() -> None:
    net = network(
        nn.Conv2d(2, 3, 3, padding=1, stride=2),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(27, 2),
    )
    images = torch.randn(9, 2, 5, 5, generator=torch.Generator().manual_seed(1)).double()
    patches = nn.functional.unfold(images, 3, padding=1, stride=2)  # (9, 18, 9)

    def after(u: Tensor) -> Tensor:
        W, b = net[0].weight.detach().flatten(1), net[0].bias.detach()
        return net[3](torch.relu(W @ u + b[:, None]).flatten(1))

    G = torch.zeros(18, 18).double()
    for c in range(2):
        u = patches.clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(after(u)[:, c].sum(), u)
        G += torch.einsum("nip,njp->ij", slope, slope)
    row = neural_feature_ansatz(net, images.numpy())[0]
    assert (row.kind, row.outputs, row.inputs) == ("Conv2d", 3, 18)
    assert row.cosine == pytest.approx(flat_cosine(square(net[0]), G), rel=1e-10)


def test_layers_of_other_kinds_and_layers_not_called_are_named() -> None:
    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(6, 4), nn.Linear(6, 4)
            self.grouped, self.norm = nn.Conv1d(4, 4, 1, groups=2), nn.LayerNorm(4)
            self.double()

        def forward(self, X: Tensor) -> Tensor:
            return self.norm(self.grouped(self.used(X)[:, :, None])[:, :, 0])

    with pytest.warns(UserWarning, match=r"unused \(Linear\), grouped \(Conv1d\);"):
        rows = neural_feature_ansatz(Partly(), X)
    assert [row.layer for row in rows] == ["used"]


def test_a_layer_called_twice_counts_both_calls_and_tokens_count_as_rows() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = network(nn.Linear(3, 3))[0]

        def forward(self, X: Tensor) -> Tensor:
            return torch.tanh(self.layer(X[:, :3])).sum(1) + self.layer(X[:, 3:]).square().sum(1)

    class Tokens(Twice):
        def forward(self, X: Tensor) -> Tensor:
            out = self.layer(X.reshape(-1, 2, 3))
            return torch.tanh(out[:, 0]).sum(1) + out[:, 1].square().sum(1)

    net = Twice()
    G = agop(net, X, standardise=False)
    total = flat_cosine(square(net.layer), torch.as_tensor(G[:3, :3] + G[3:, 3:]))
    assert neural_feature_ansatz(net, X)[0].cosine == pytest.approx(total, rel=1e-10)
    assert neural_feature_ansatz(Tokens(), X)[0].cosine == pytest.approx(total, rel=1e-10)


def test_the_module_is_left_as_it_was() -> None:
    net = network(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Dropout(), nn.Linear(5, 1))
    net[0].weight.requires_grad_(False)
    before = copy.deepcopy(net.state_dict())
    with torch.no_grad():
        one, two = neural_feature_ansatz(net, X), neural_feature_ansatz(net, X)
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        three = neural_feature_ansatz(net, X)
    assert [r.cosine for r in one] == [r.cosine for r in two] == [r.cosine for r in three]
    assert all(part.training for part in net.modules())
    assert all(p.grad is None for p in net.parameters())
    assert not net[0].weight.requires_grad
    assert all(not part._forward_hooks for part in net.modules())
    assert all(torch.equal(before[k], v) for k, v in net.state_dict().items())


NET = network(nn.Linear(6, 2))


@pytest.mark.parametrize(
    ("module", "table", "options", "sentence"),
    [
        (nn.Sequential(nn.ReLU()), X, {}, "no nn.Linear"),
        (torch.relu, X, {}, "is a builtin_function_or_method: give a torch.nn.Module"),
        (NET, X.long(), {}, "give finite floating numbers"),
        (NET, X / 0, {}, "give finite floating numbers"),
        (NET, np.zeros(6), {}, "give finite floating numbers"),
        (NET, X, {"initial": network(nn.Linear(6, 3))}, "initial has no layer '0'"),
        (NET, X, {"power": 0.0}, "power is 0.0"),
        (NET, X, {"batch_size": 0}, "batch_size is 0"),
        (network(nn.Linear(6, 2), nn.Softmax(0)), X, {}, "changes with another row"),
    ],
)
def test_what_is_not_allowed_is_told(module, table, options, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        neural_feature_ansatz(module, table, **options)
