"""Torch in, torch out: in a process of its own, for SciPy reads its switch when imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from small_fits import regression

from gradfeat.estimators import KernelRegressor


def test_torch_in_gives_torch_out_under_dispatch() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(Path(__file__).with_name("array_api_script.py"))],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done"), done.stderr


def test_torch_in_gives_numpy_out_without_dispatch() -> None:
    X, y = regression(40)
    fitted = KernelRegressor(search=None).fit(torch.tensor(X), torch.tensor(y))
    assert type(fitted.predict(torch.tensor(X))) is np.ndarray
