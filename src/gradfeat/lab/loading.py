"""Find an experiment: a shipped one by name, a user's own by the path of its file."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from gradfeat.errors import ExperimentError
from gradfeat.lab.experiment import Experiment

#: The package of the shipped experiments: above this one, so that its files may import it.
CATALOGUE = "gradfeat.catalogue"


def names() -> list[str]:
    """The names of the shipped experiments: the files in ``catalogue/``, without importing.

    A file whose name starts with an underscore is none.
    """
    folder = importlib.import_module(CATALOGUE).__path__
    files = (module.name for module in pkgutil.iter_modules(folder) if not module.ispkg)
    return sorted(name.replace("_", "-") for name in files if not name.startswith("_"))


def known(name: str) -> str:
    """What to give in place of a name that no shipped experiment has: one that is close, or where
    all are listed.
    """
    there = names()
    close = " or ".join(map(repr, get_close_matches(name, there, n=2)))
    guess = f"; did you mean {close}? " if close else "; "
    listed = f"`gradfeat list` shows all {len(there)}"
    return f"{guess}{listed}; a file of your own is given by its path, ending in .py."


def experiment(name_or_path: str) -> Experiment:
    """Return the ``EXPERIMENT`` of a shipped file (by name) or of a user's file (ends in .py).

    Only that file is imported. The folder of a user's file joins `sys.path`, at its end, so that
    worker processes can import the file by its name.
    """
    if name_or_path.endswith(".py"):
        return _of_file(Path(name_or_path))
    if name_or_path not in names():
        raise ExperimentError(f"{name_or_path!r} is no experiment{known(name_or_path)}")
    module = name_or_path.replace("-", "_")
    return _experiment_in(importlib.import_module(f"{CATALOGUE}.{module}"), name_or_path)


def _experiment_in(module: ModuleType, shown: str) -> Experiment:
    match vars(module).get("EXPERIMENT"):
        case Experiment() as found:
            return found
        case _:
            raise ExperimentError(f"{shown!r} has no EXPERIMENT: set it to an Experiment.")


def _of_file(path: Path) -> Experiment:
    if not path.is_file():
        raise ExperimentError(f"there is no file {str(path)!r}: check the path.")
    found = _experiment_in(_import_file(path.resolve(), str(path)), str(path))
    if found.name in names():
        raise ExperimentError(
            f"{str(path)!r} calls itself {found.name!r}, a shipped experiment: give it another "
            "name, so that results are not taken for those."
        )
    return found


def _import_file(path: Path, shown: str) -> ModuleType:
    """Import a file by its stem, anew each time."""
    _check_free(path, shown)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    sys.modules.pop(path.stem, None)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(path.stem)
    except (Exception, SystemExit) as error:
        sys.modules.pop(path.stem, None)
        raise ExperimentError(_what_failed(error, path, shown)) from error


def _check_free(path: Path, shown: str) -> None:
    """Refuse a file that `import` would not find under its stem."""
    if "." in path.stem:
        raise ExperimentError(f"{shown!r} has a dot in its name: rename it, to be importable.")
    loaded = sys.modules.get(path.stem)
    if loaded is not None:
        origin = vars(loaded).get("__file__")
    else:
        spec = find_spec(path.stem)
        origin = str(path) if spec is None else spec.origin
    if origin is None or Path(origin).resolve() != path:
        raise ExperimentError(
            f"{shown!r} has the name of another module ({path.stem}): rename the file."
        )


def _what_failed(error: BaseException, path: Path, shown: str) -> str:
    match error:
        case SyntaxError() if error.filename and Path(error.filename) == path:
            return f"{shown!r} does not run: line {error.lineno}: {error.msg}."
        case _:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
            where = f" line {lines[-1]}:" if lines else ""
            return f"{shown!r} does not run:{where} {type(error).__name__}: {error}"
