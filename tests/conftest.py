"""Shape and type annotations of the numerical layers are checked in every test.

Property tests take fixed draws, so that a test fails by a change and never by chance. Random ones
come with ``--hypothesis-profile random``, as in `make test-all`; what they find is pinned with
``@example``. No profile has a deadline: how fast a machine is decides no test.
"""

from __future__ import annotations

import functools
import gc
import random
import signal
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import typer.main
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

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


# Libraries and the source as trees are millions of objects, which the collector walked through
# again and again: a sixth of the processor time of tests. What was imported for them is left out,
# and new objects are looked at less often.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


class _Together(LoadFileScheduling):
    """Files of tests stay on one worker, and so do all that look at the made-up pages: each page
    is drawn once."""

    def _split_scope(self, nodeid: str) -> str:
        return "pages" if nodeid.startswith("tests/reports/") else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    return _Together(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    typecheck.budget.begin_test()
    # A test draws the same whatever ran before it: where a library draws from global generators,
    # and where tests share one of their module.
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    _begin_anew(getattr(item, "module", None))


#: Generators of modules of tests, in the state in which they were imported.
_IMPORTED: dict[tuple[str, str], Any] = {}


def _begin_anew(module: ModuleType | None) -> None:
    for name, value in (vars(module) if module is not None else {}).items():
        key = f"{module}", name
        if type(value) is np.random.Generator:
            value.bit_generator.state = _IMPORTED.setdefault(key, value.bit_generator.state)
        elif type(value) is torch.Generator:
            value.set_state(_IMPORTED.setdefault(key, value.get_state()))
