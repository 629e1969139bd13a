"""The models that a comparison saves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradfeat.estimators.container import ModelFileError
from gradfeat.table.saved import FEATURES, MODEL
from gradfeat.table.table_model import TableModel


@dataclass(frozen=True)
class ModelFiles:
    """Files of models, and what is to be said of each.

    Attributes
    ----------
    files : mapping of name to bytes
        ``model.gradfeat``, the best model; ``features.gradfeat``, the best that learns features,
        where that is another. One that cannot be saved is not there.
    said : mapping of name to str
        For each of the two the method in it, or why there is none.
    """

    files: Mapping[str, bytes]
    said: Mapping[str, str]


def files_of(best: TableModel, learner: TableModel | None) -> ModelFiles:
    """What is saved of the best model and of the best that learns features."""
    said, files = {}, {}
    asked = {MODEL: best, FEATURES: learner}
    if learner is None:
        said[FEATURES] = "none: no method learned features"
    if learner is best:
        said[FEATURES] = "none beside the model, which learns features itself"
    for name, model in asked.items():
        if model is None or name in said:
            continue
        try:
            files[name], said[name] = model.to_bytes(), model.about["method"]
        except ModelFileError as error:
            said[name] = f"none: {model.about['method']} was not saved, {error}"
    return ModelFiles(files, said)
