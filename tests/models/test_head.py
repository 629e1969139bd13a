"""The head's penalty: each rule picks its own minimiser."""

from __future__ import annotations

import pytest
import torch

from contracts import close, data
from gradfeat.maths.blocks import Block
from gradfeat.maths.gram_ridge import gram_ridge
from gradfeat.maths.ridge import ridge_path
from gradfeat.maths.statistics.moments import Moments
from gradfeat.models.head import RidgeHead, _loss
from gradfeat.rows.rows import Rows, in_memory, of_block
from gradfeat.rows.sources.tables import ArrayRows


def test_rules_choose_their_criterion_and_options_matter():
    one = data(30, 12)
    path, _ = ridge_path(one.X, one.y, one.w)
    chosen = {s: RidgeHead(select=s).fit(in_memory(one.X, one.y, one.w))[2] for s in RULES}
    assert chosen["loo"] == path.best(path.grid())
    assert chosen["gcv"] == path.best(path.grid(), "gcv")
    assert len(set(chosen.values())) > 1
    assert float(RidgeHead(intercept=False).fit(in_memory(one.X, one.y))[1].abs().max()) == 0


RULES = ("loo", "gcv", "validation")


def test_stationarity_at_a_given_penalty():
    one = data()
    a, b, lam = RidgeHead(penalty=0.3).fit(in_memory(one.X, one.y, one.w))
    close(one.X.T @ (one.w[:, None] * (one.y - b - one.X @ a)), lam * a)
    assert not torch.allclose(a, RidgeHead(penalty=0.6).fit(in_memory(one.X, one.y, one.w))[0])


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_penalty_validated_on_noise_is_large(streamed, intercept):
    """60 features of 100 rows: the fit without a penalty has four times the loss of none.

    On the rows of the fit the least penalty, 1e-10 of the mean eigenvalue, has the least loss.
    """
    draw = torch.Generator().manual_seed(1)
    X, y = (torch.randn(100, k, generator=draw).double() for k in (60, 1))
    rows = Rows(ArrayRows(X, y, piece_rows=30)) if streamed else in_memory(X, y)
    head = RidgeHead(select="validation", intercept=intercept)
    assert head.fit(rows)[2] > 1e-2 * float(X.square().sum() / 60)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_loss_from_moments_is_that_of_the_rows(intercept):
    """Also where the rows held out have other means, as a part by the hash has."""
    one = data(30, 5)
    block = Block(one.X + 2, one.y - 1, one.w)
    kept, held = block.at(slice(20)), block.at(slice(20, 30))
    moments = [of_block(part).collect(Moments(), "sums") for part in (kept, held)]
    path = gram_ridge(moments[0], intercept=intercept)
    a, b, _ = RidgeHead(penalty=0.3, intercept=intercept).fit(of_block(kept))
    error = held.y - b - held.X @ a
    expected = float((held.w[:, None] * error.square()).sum())
    assert _loss(path, 0.3, moments[1]) == pytest.approx(expected, rel=1e-9)
