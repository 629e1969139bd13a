"""Experiments in files of one's own: imported under their names, forgotten after a test."""

from __future__ import annotations

import sys

import pytest

from cli.tables import without_pages


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch):
    """A fault of the program fails a test with its traceback."""
    monkeypatch.setenv("GRADFEAT_DEBUG", "1")


@pytest.fixture
def no_page():
    """Leave out the figures of every fit."""
    with without_pages():
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder; modules and paths that a test adds are taken away again."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
