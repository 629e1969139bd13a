"""Shape and type annotations of the numerical layers are checked in every test.

Property tests take fixed draws, so that a test fails by a change and never by chance. Random ones
come with ``--hypothesis-profile random``, as in `make test-all`; what they find is pinned with
``@example``. No profile has a deadline: how fast a machine is decides no test.
"""

from __future__ import annotations

import functools
import random
import signal

import numpy as np
import pytest
import torch
import typer.main
from hypothesis import settings

import typecheck

typecheck.install("gradfeat.maths", "gradfeat.models")

# Commands are made once in a process, as a program does, and not at each call of a test.
typer.main.get_command = functools.cache(typer.main.get_command)

settings.register_profile("gate", derandomize=True, database=None, deadline=None)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("gate")


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts what runs in the background with Ctrl-C ignored, and tests send one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--hypothesis-profile") == "random":
        typecheck.budget.check_all()


def pytest_runtest_setup() -> None:
    typecheck.budget.begin_test()
    # Where a library draws from global generators, a test draws the same whatever ran before it.
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
