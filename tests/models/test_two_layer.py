"""Neurons have no order."""

from __future__ import annotations

from dataclasses import replace

import torch

from contracts import STEP, close, data
from gradfeat.rows.rows import in_memory


def test_permuting_neurons_changes_nothing():
    one = data()
    f = STEP.fit(in_memory(one.X, one.y))
    p = torch.randperm(24, generator=torch.Generator().manual_seed(0))
    g = replace(f, W=f.W[p], b=f.b[p], a=f.a[p])
    close(g(one.X), f(one.X), 1e-12)
    close(g.agop(one.X), f.agop(one.X), 1e-12)
