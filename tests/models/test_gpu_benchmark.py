"""The script for machines with a GPU, by its road on a CPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import gpu


def test_rounds_in_bare_torch_are_those_of_the_library() -> None:
    """Two paths: six solves of condition 150 / 1e-3 in float64, each on what the last one made."""
    X, y = gpu.drawn(150, 4, torch.float64, "cpu", "train")
    T, _ = gpu.drawn(50, 4, torch.float64, "cpu", "test")
    assert torch.allclose(gpu.ours(X, y, T), gpu.bare(X, y, T), rtol=0, atol=1e-6)


def test_no_gpu_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main(["--small"]) == 2
    assert "--device cpu" in capsys.readouterr().err


@pytest.mark.slow
def test_all_measurements_on_a_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--device", "cpu", "--small"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["what"] for line in lines} == {"device", "same", "rfm", "default", "pass", "all"}
    assert all(line["holds"] for line in lines if line["what"] == "same")
    assert [line["label"] for line in lines if line["what"] == "pass"] == [
        "moments",
        "gradient",
        "normal equations",
    ]
