"""What tries of several kinds begin with: pages drawn or not, an experiment and its store."""

from __future__ import annotations

import contextlib
from pathlib import Path
from unittest.mock import patch

from cli.lab_files import GROWS
from hostile.attempt import attempt


def pages(wanted: bool) -> contextlib.AbstractContextManager[object]:
    """Whether pages are drawn."""
    kept = contextlib.nullcontext()
    return kept if wanted else patch("gradfeat.interface.page.page", lambda *_: "<p>page</p>")


def experiment(home: Path) -> tuple[Path, Path]:
    """A file of an experiment with an array, and its store."""
    file, store = home / "grows.py", home / "good.sqlite"
    file.write_text(GROWS.replace('{"value"', '{"a": __import__("numpy").arange(3.0), "value"'))
    for scale in ("paper", "quick"):
        attempt("run", file, "--no-figure", "--store", store, "--scale", scale)
    return file, store
