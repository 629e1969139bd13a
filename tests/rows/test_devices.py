"""Passes on devices: the statistic goes there once a pass, and states come back."""

from __future__ import annotations

import torch
from engine_rows import drawn

from gradfeat.maths.statistics.combined import OnMapped
from gradfeat.maths.statistics.moments import Moments, inputs_only
from gradfeat.rows import on_workers
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.on_workers import Devices


def statistic(shift: float) -> OnMapped:
    return OnMapped(Moments(), inputs_only(torch.full((3,), shift), torch.ones(3), 1))


def test_the_statistic_is_moved_once_for_each_device(monkeypatch):
    asked = []

    def elsewhere(value, device):
        asked.append((value, device))
        return statistic(5.0)

    monkeypatch.setattr(on_workers, "moved", elsewhere)
    one = statistic(1.0)
    found = Devices(("cpu", "cpu")).state(one, drawn(40))
    assert asked == [(one, torch.device("cpu"))] * 2
    expected = InProcess().state(statistic(5.0), drawn(40))  # what is there computes
    assert torch.equal(found.mean_x, expected.mean_x)
    assert torch.equal(found.xx, expected.xx)
