"""Coverage of given directions over cones and norms."""

from __future__ import annotations

import pytest
import torch

from gradfeat.diagnostics.alignment import coverage
from gradfeat.models.gradient_features.cones import clustered


def gradients(m=600, d=4):
    g = torch.Generator().manual_seed(0)
    G = torch.randn(m, d, generator=g).double() + 2 * torch.eye(d).double()[0]
    return G, torch.randn(m, generator=g).double()


def test_equals_the_count_by_definition():
    G, b = gradients()
    D = torch.tensor([[3.0, 0, 0, 0], [0, 1.0, 1.0, 0]]).T.double()
    table = coverage(G, b, D, widths=[0.05, 0.3], norms=[0.0, 2.0])
    u = D / D.norm(dim=0)
    for q in range(2):
        for s, mine in enumerate((b >= 0, b < 0)):
            for i, width in enumerate((0.05, 0.3)):
                for j, norm in enumerate((0.0, 2.0)):
                    inside = [
                        bool(mine[k])
                        and abs(float(G[k] @ u[:, q])) > (1 - width) * float(G[k].norm())
                        and float(G[k].norm()) >= norm
                        for k in range(len(G))
                    ]
                    assert float(table[q, s, i, j]) == pytest.approx(sum(inside) / len(G))


def test_mass_grows_with_the_cone_and_falls_with_the_norm():
    table = coverage(*gradients(), torch.eye(4).double(), widths=[0.05, 0.1, 0.3], norms=[0, 1, 3])
    assert (table.diff(dim=2) >= 0).all()
    assert (table.diff(dim=3) <= 0).all()
    assert table[0, :, 2, 0].sum() > table[1, :, 2, 0].sum()


def test_agrees_with_the_feature_set_on_the_neurons_that_measured_it():
    G, b = gradients()
    found = clustered(G, b, p=0.05, width=0.2, least_norm=(1.0, 1.0))
    table = coverage(G[300:], b[300:], found.directions, widths=[0.2], norms=[1.0])
    feature = found.features[0]
    assert float(table[0, int(feature.sign < 0), 0, 0]) == pytest.approx(feature.mass)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"directions": torch.zeros(4, 1)}, "above 0"),
        ({"widths": [1.0]}, "between 0 and 1"),
        ({"widths": []}, "at least one of each"),
        ({"norms": [-1.0]}, "not negative"),
    ],
)
def test_coverage_refusals(change, message):
    G, b = gradients()
    given = {"directions": torch.eye(4), "widths": [0.1], "norms": [1.0]} | change
    with pytest.raises(ValueError, match=message):
        coverage(G, b, **given)
