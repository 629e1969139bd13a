"""What tries of several kinds begin with: pages drawn or not, an experiment and its store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from cli.lab_files import GROWS
from gradfeat.interface.compare import Comparison
from gradfeat.interface.diagnose import Diagnosis
from hostile.attempt import attempt


@contextlib.contextmanager
def pages(wanted: bool) -> Iterator[None]:
    """Whether pages are drawn."""
    kinds = (Comparison, Diagnosis)
    kept = [kind._rendered for kind in kinds]
    for kind in kinds if not wanted else ():
        kind._rendered = lambda _: "<p>page</p>"  # pyright: ignore
    try:
        yield
    finally:
        for kind, rendered in zip(kinds, kept, strict=True):
            kind._rendered = rendered


def experiment(home: Path) -> tuple[Path, Path]:
    """A file of an experiment with an array, and its store."""
    file, store = home / "grows.py", home / "good.sqlite"
    file.write_text(GROWS.replace('{"value"', '{"a": __import__("numpy").arange(3.0), "value"'))
    for scale in ("paper", "quick"):
        attempt("run", file, "--no-figure", "--store", store, "--scale", scale)
    return file, store
