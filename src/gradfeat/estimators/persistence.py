"""Which estimators a model file may hold, and how they come back."""

from __future__ import annotations

import os
from typing import Final

from .. import estimators
from ..errors import ModelFileError
from .agop_transformer import AGOPTransformer
from .base import FeatureModel
from .container import Contents, rebuilding

Saved = FeatureModel | AGOPTransformer

#: All estimators by name.
CLASSES: Final[dict[str, type[Saved]]] = {
    name: getattr(estimators, name) for name in estimators.__all__
}


def estimator_from(contents: Contents, path: str | os.PathLike[str] = "the model") -> Saved:
    """The estimator of what its ``to_contents`` gave."""
    if contents.kind not in CLASSES:
        raise ModelFileError(
            f"{path} holds a {contents.kind!r}, which this gradfeat does not know: use the "
            "version that saved it."
        )
    with rebuilding(path, contents.kind):
        return CLASSES[contents.kind].from_state(contents.state, contents.arrays)
