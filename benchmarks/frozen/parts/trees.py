"""What `capabilities.py` and `numbers.py` share: one thread, and names by any module they were in.

Import it before anything that starts threads.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

#: One thread for every library, here and in processes that are started: sums in a fixed order.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
os.environ.update(ONE_THREAD)
os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

#: Modules by what they are for: today's name, then the one before the folders were renamed.
PLACES = {
    "rows": ("gradfeat.rows", "gradfeat.passes"),
    "lab": ("gradfeat.lab", "gradfeat.experiments"),
    "loading": ("gradfeat.lab.loading", "gradfeat.experiments.loading"),
    "diagnose": ("gradfeat.table.diagnose", "gradfeat.tabular.diagnose"),
    "methods": ("gradfeat.table.methods", "gradfeat.tabular.methods"),
    "dask_client": ("gradfeat.rows.dask_client", "gradfeat.passes.dask_client"),
    "dask_executor": ("gradfeat.rows.dask_executor", "gradfeat.experiments.dask_executor"),
    "predicted_errors": ("gradfeat.theory.predicted_errors",),
}


def use(src: str | None) -> None:
    """Import gradfeat from this folder, also in processes that are started."""
    if src is not None:
        path = str(Path(src).resolve())
        sys.path.insert(0, path)
        os.environ["PYTHONPATH"] = path


def modules(place: str) -> list[ModuleType]:
    """The modules of a place that are there."""
    found = []
    for name in PLACES[place]:
        try:
            found.append(importlib.import_module(name))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("gradfeat"):
                raise
    return found


@cache
def every_module() -> tuple[ModuleType, ...]:
    """All modules of gradfeat but those of the command line."""
    import gradfeat

    found = pkgutil.walk_packages(gradfeat.__path__, "gradfeat.")
    names = [m.name for m in found if not m.name.endswith("__main__")]
    return tuple(importlib.import_module(name) for name in names)


def named(name: str, place: str) -> Any:
    """An object by its name: where it used to be, else wherever it is defined now."""
    for each in modules(place):
        try:
            return getattr(each, name)
        except AttributeError:
            continue
    for each in every_module():
        found = vars(each).get(name)
        if getattr(found, "__module__", None) == each.__name__:
            return found
    raise LookupError(f"gradfeat has no {name!r}")
