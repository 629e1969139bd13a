"""Everything that gradfeat writes to a model file, and the one reader of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from gradfeat.errors import ModelFileError
from gradfeat.estimators.container import Contents, read, rebuilding, write

#: Names of the models that `gradfeat fit` writes into its folder: the best one, and the best of
#: those that learn features where that is another.
MODEL, FEATURES = "model.gradfeat", "features.gradfeat"


class Saved(Protocol):
    """What can be saved: estimators, table models and encoders, once fitted."""

    def to_contents(self) -> Contents: ...


def save(model: Saved, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to one file (safetensors with a JSON description; no pickle).

    Written completely or not at all. A random generator given as ``random_state`` is saved
    as None.

    Parameters
    ----------
    model : a fitted gradfeat estimator, table model or table encoder
        What to save.
    path : path-like
        Where; by convention ``.gradfeat``.

    Raises
    ------
    ModelFileError
        One sentence: not writable, or not describable.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from gradfeat import KernelRegressor, load, save
    >>> X = np.arange(8.0)[:, None]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(KernelRegressor().fit(X, X[:, 0]), f"{folder}/m.gradfeat")
    ...     load(f"{folder}/m.gradfeat").predict(X).shape
    (8,)
    """
    if not callable(getattr(type(model), "to_contents", None)):  # of a class, too
        raise ModelFileError(
            f"A {type(model).__name__} is not gradfeat's and is not saved: fit it in a TableModel."
        )
    write(path, model.to_contents())


def load(path: str | os.PathLike[str], device: str | None = None) -> Any:
    """Load what gradfeat wrote: an estimator, a table model or a table encoder.

    Parameters
    ----------
    path : path-like
        The file, or the folder that `gradfeat fit` wrote: its ``model.gradfeat``.
    device : str, optional
        Torch device of the model; left out: the CPU.

    Raises
    ------
    ModelFileError
        One sentence for a file that is missing, cut short, changed, or of another format.
    """
    file = model_file(path)
    model = _model(read(file), file)
    return model if device is None else model.to_device(device)


def model_file(path: str | os.PathLike[str], *names: str) -> Path:
    """The file itself; of a folder the first of `names` that is there (``model.gradfeat``)."""
    given, wanted = Path(path), names or (MODEL,)
    if not given.is_dir():
        return given
    found = [given / name for name in wanted if (given / name).is_file()]
    if not found:
        raise ModelFileError(
            f"The folder {given} holds no {' or '.join(wanted)}: give a model file, or the folder "
            "that `gradfeat fit` wrote."
        )
    return found[0]


def load_table_model(path: str | os.PathLike[str], *names: str) -> Any:
    """:func:`load` of a table model alone; `names` as in :func:`model_file`."""
    from gradfeat.table.table_model import KIND

    file = model_file(path, *names)
    contents = read(file)
    if contents.kind != KIND:
        raise ModelFileError(
            f"{file} holds a bare {contents.kind} without its table encoding: load it in Python "
            "with gradfeat.load, or give a model that `gradfeat fit` wrote."
        )
    return _model(contents, file)


def _model(contents: Contents, file: Path) -> Any:
    """By its kind, and tried on a row; what reads tables is imported only where it is needed."""
    with rebuilding(file):
        if contents.kind == "TableModel":
            from gradfeat.table.table_model import TableModel

            model = TableModel.from_contents(contents)
            _check_task(model, file)
            model.predictions(model.encoder.missing_row())
            return model
        if contents.kind == "TableEncoder":
            from gradfeat.table.encode import TableEncoder

            encoder = TableEncoder.from_contents(contents)
            encoder.transform(encoder.missing_row())
            return encoder
        from gradfeat.estimators.persistence import estimator_from

        return estimator_from(contents, file)


def _check_task(model: Any, file: Path) -> None:
    """Refuse an estimator of quantities in a model of classes, and the other way round."""
    from gradfeat.estimators.checks import classifies

    known, fitted = len(model.classes), classifies(model.estimator_)
    if fitted != (known > 0) or (fitted and max(model.estimator_.classes_) >= known):
        raise ModelFileError(
            f"{file} holds a model of {known or 'no'} classes and an estimator of others: restore "
            "a good copy, or fit again."
        )


def fitted_on(about: Mapping[str, Any]) -> str:
    """The rows of a model: ``fitted on 300 rows of t.csv, tested on 100``, where it was tested."""
    tested = f", tested on {about['test_rows']:,} others" if about["test_rows"] else ""
    return f"fitted on {about['train_rows']:,} rows of {about['data']}{tested}"
