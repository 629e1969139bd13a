"""Names that are imported when they are used: all there, all used, and none imported before."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradfeat.lab import lazy

ROOT = Path(__file__).parents[2]


def test_each_name_is_there_and_used():
    files = [*ROOT.glob("src/gradfeat/catalogue/**/*.py"), *ROOT.glob("examples/**/*.py")]
    used = {
        name for file in files for name in re.findall(r"\blazy\.(\w+)", file.read_text("utf-8"))
    }
    assert used == set(lazy._homes())
    assert all(getattr(lazy, name) is not None for name in used)


def test_a_name_is_that_of_its_module():
    from gradfeat.models.gradient_step import GradientStep

    assert lazy.GradientStep is GradientStep


def test_an_unknown_name_is_told():
    with pytest.raises(AttributeError, match=r"lazy has no 'nothing': add its import to lab/lazy"):
        lazy.nothing  # noqa: B018


def test_nothing_is_imported_before():
    program = "import sys, gradfeat.lab.lazy as lazy; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
