"""Fitted estimators of scikit-learn as bytes (skops) and back, without code from files."""

# Apart: what may be built from a file is one list, read beside nothing else.

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any, Final, cast

import numpy as np
import sklearn
from numpy.typing import NDArray

from gradfeat.errors import ModelFileError
from gradfeat.estimators.container import Contents
from gradfeat.maths.unpacking import TooMuch, check_zip

#: Types beside those that skops trusts by itself. Loading builds these and nothing else: what
#: names any other type is refused before anything of it is built. Trees of random forests
#: (``sklearn.tree._tree.Tree``) are not among them: scikit-learn does not check where their nodes
#: point, and a damaged one ends the process.
TRUSTED: Final = [
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
]

_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    AttributeError,
    ImportError,
    KeyError,
    TypeError,
    ValueError,
)

#: What a file calls an estimator that is scikit-learn's own.
SKLEARN = "scikit-learn"


def sklearn_contents(estimator: Any) -> Contents:
    """A fitted estimator of scikit-learn, for saving."""
    state = {"class": type(estimator).__name__, "version": sklearn.__version__}
    return Contents(SKLEARN, state, {"skops": packed(estimator)})


def sklearn_estimator(contents: Contents) -> Any:
    """What :func:`sklearn_contents` took."""
    versions = f"scikit-learn {contents.state['version']}, here is {sklearn.__version__}"
    return unpacked(cast("NDArray[np.uint8]", contents.arrays["skops"]), versions)


def packed(fitted: Any) -> NDArray[np.uint8]:
    """A fitted object as bytes."""
    import skops.io  # seconds, which no command that saves nothing has to wait for
    from skops.io.exceptions import UnsupportedTypeException

    try:
        data = skops.io.dumps(fitted, compression=zipfile.ZIP_DEFLATED)
        foreign = set(skops.io.get_untrusted_types(data=data)) - set(TRUSTED)
    except (UnsupportedTypeException, *_UNREADABLE) as error:
        raise ModelFileError(
            f"a {type(fitted).__name__} cannot be saved ({str(error).splitlines()[0]})."
        ) from error
    if foreign:
        raise ModelFileError(
            f"a {type(fitted).__name__} cannot be saved: it holds {', '.join(sorted(foreign))}, "
            "which is not among the types that a model file may name. Of scikit-learn there may be "
            "linear models, support vector machines, MLP and HistGradientBoosting, and pipelines "
            "of them; skops.io.dump writes others."
        )
    return np.frombuffer(data, dtype=np.uint8)


def unpacked(data: NDArray[np.uint8], versions: str) -> Any:
    """What :func:`packed` took.

    `versions` says what they were written with and what is here: ``1.8, here is 1.9``.
    """
    import skops.io
    from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException

    try:
        check_zip(io.BytesIO(data.tobytes()), "A part of the model")
        return skops.io.loads(data.tobytes(), trusted=TRUSTED)
    except TooMuch as error:
        raise ModelFileError(str(error)) from error
    except UntrustedTypesFoundException as error:
        raise ModelFileError(
            "The model names types that are not trusted, so nothing of it was loaded: use a file "
            "that you wrote yourself."
        ) from error
    except (UnsupportedTypeException, *_UNREADABLE) as error:
        raise ModelFileError(
            f"A part of the model cannot be read (it was written with {versions}): install that "
            "version or fit it again."
        ) from error
