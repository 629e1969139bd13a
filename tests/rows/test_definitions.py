"""The code of what is pickled by name."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from gradfeat.rows.wire import code_of


def made(text):
    space = {"__name__": "mine", "torch": torch}
    exec(text, space)
    return space["f"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x): return x + 1", "def f(x): return x + 2"),
        ("def f(x): return torch.sin(x)", "def f(x): return torch.cos(x)"),
        ("def f(x, by=1.0): return x * by", "def f(x, by=2.0): return x * by"),
        ("def f(x, *, by=1.0): return x * by", "def f(x, *, by=2.0): return x * by"),
        ("def f(x): return (lambda: x + 1)()", "def f(x): return (lambda: x + 2)()"),
        ("class f:\n def go(self): return 1", "class f:\n def go(self): return 2"),
        ("class f:\n by = 1", "class f:\n by = 2"),
        (
            "class b:\n @property\n def go(self): return 1\nclass f(b): pass",
            "class b:\n @property\n def go(self): return 2\nclass f(b): pass",
        ),
    ],
)
def test_other_code_has_another_digest(one, other):
    assert code_of(made(one)) == code_of(made(one))
    assert code_of(made(one)) != code_of(made(other))


def test_gradfeat_has_a_version():
    assert code_of(code_of) == b""


def test_the_digest_is_the_same_in_every_process():
    """Sets among the constants have another order; objects another address."""
    text = """def f(x, other=object()):
    return x in {"a", "b", "c", "d", "e"}
"""
    program = f"from gradfeat.rows.wire import code_of\n{text}print(code_of(f).hex())"
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert there == f"{code_of(made(text)).hex()}\n"
    assert len(there) == 33
