"""The head's penalty: each rule picks its own minimiser."""

from __future__ import annotations

import torch

from contracts import close, data
from gradfeat.maths.ridge import ridge_path
from gradfeat.models.head import RidgeHead
from gradfeat.rows.rows import in_memory


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
