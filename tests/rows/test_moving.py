"""Values on another device: what is moved, what is kept, what is forgotten."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial

import pytest
import torch
from torch import Tensor

from gradfeat.maths.activations import ReLU
from gradfeat.maths.statistics.combined import Chain, Joint, OnMapped
from gradfeat.maths.statistics.gradient_sums import FirstLayerGradient, GradientOuterProducts
from gradfeat.maths.statistics.moments import Moments, inputs_only
from gradfeat.rows.on_workers import moved

META, CPU = torch.device("meta"), torch.device("cpu")


@dataclass(frozen=True)
class Net:
    """Weights, something derived from them, and something that is not given."""

    W: Tensor
    name: str = "net"
    where: torch.device | None = None
    norm: float = field(init=False, default=1.0)

    @cached_property
    def square(self) -> Tensor:
        return self.W.square()

    def gradient(self, X: Tensor) -> Tensor:
        return X @ self.W


@dataclass(frozen=True)
class Wider(Net):
    """A subclass, whose cached property is its parent's."""


def devices(statistic):
    """Device of each tensor in a value, however deep."""
    match statistic:
        case Tensor():
            return [statistic.device]
        case tuple() | list():
            return [device for each in statistic for device in devices(each)]
        case type():
            return []
    inner = getattr(statistic, "__dict__", {})
    return [device for each in inner.values() for device in devices(each)]


@pytest.fixture
def net():
    return Net(torch.ones(2, 2), where=CPU)


def test_fields_are_moved_and_what_was_cached_is_computed_anew(net):
    for each in (net, Wider(net.W)):
        assert each.square.device == CPU
        there = moved(each, META)
        assert type(there) is type(each)
        assert there.W.device == there.square.device == META
        assert (each.W.device, each.square.device) == (CPU, CPU)
        assert (there.name, there.norm) == ("net", 1.0)


def test_a_device_that_is_named_becomes_the_device(net):
    assert moved(net, META).where == META
    assert moved(Net(net.W), META).where is None


def test_containers_bound_methods_and_partials(net):
    there = moved({"a": (net.gradient, [partial(torch.add, net.W, other=net.W)]), "b": 3}, META)
    gradient, (add,) = there["a"]
    assert gradient(torch.ones(1, 2, device="meta")).device == META
    assert add().device == META
    assert there["b"] == 3


def test_what_is_there_already_is_the_same_object(net):
    for value in (net, (net,), [net.W], {"net": net}, partial(net.gradient, net.W), len, 3, Net):
        assert moved(value, CPU) is value
    assert moved(net.gradient, CPU).__self__ is net
    both = Net(net.W), torch.ones(1, device="meta")
    assert moved(both, META)[1] is both[1]


def test_statistics_of_mapped_rows_are_moved_whole(net):
    W = torch.ones(3, 2).double()
    rows = Chain((inputs_only(torch.ones(2), torch.ones(2), 1), net))
    parts = (
        FirstLayerGradient(W, W[:, 0], W[:, :1], ReLU()),
        OnMapped(Moments(rows), rows),
        GradientOuterProducts(net.gradient, 8),
    )
    there = moved(Joint(parts), META)
    found = devices(there)
    assert len(found) >= 3 + 2 * 5
    assert set(found) == {META}
    assert there.parts[2] != parts[2]


def test_a_move_that_fails_says_so(net, monkeypatch):
    def full(*_: object) -> Tensor:
        raise torch.OutOfMemoryError("no memory")

    monkeypatch.setattr(Tensor, "to", full)
    with pytest.raises(torch.OutOfMemoryError):
        moved(net, META)
