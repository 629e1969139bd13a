"""What users give, as what the models take, or refused in one sentence: arrays and parameters.

And results back, in the namespace that the arrays came from.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals
import numpy as np
import torch
from narwhals.dependencies import is_into_dataframe, is_into_series
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import is_classifier
from sklearn.utils._array_api import _convert_to_numpy, device, get_namespace
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..errors import TableError
from ..maths.ranges import usable_device
from ..models.head import RidgeHead
from ..models.search.kernel_space import NAMES, KernelChoice

#: An array of float64 numbers.
Floats = NDArray[np.float64]

#: In whose namespace fitted arrays are where rows came from no array.
NUMPY = np.zeros((0, 0))


@dataclass(frozen=True)
class Placement:
    """Where tensors live and their float type."""

    device: torch.device
    dtype: torch.dtype

    def tensor(self, a: Floats) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(a)).to(device=self.device, dtype=self.dtype)


def placement(X: Any, where: str | None, dtype: str | None) -> Placement:
    """Device and dtype of a fit: asked for, or those of a torch input, or float64 on the CPU."""
    dtype = check_choice("dtype", dtype, (None, "float32", "float64"))
    kind = torch.float32 if dtype == "float32" else torch.float64
    if where is not None:
        return Placement(usable_device(where), kind)
    return Placement(X.device if type(X) is torch.Tensor else torch.device("cpu"), kind)


def as_given(a: Any, name: str) -> Any:
    """`a` as scikit-learn validates it: a tensor leaves its graph, a masked cell is no number."""
    if torch.is_tensor(a):
        if a.is_meta or a.layout != torch.strided:
            kind = "has no values (device meta)" if a.is_meta else "is sparse"
            raise ValueError(f"{name} {kind}: give a dense tensor that holds its numbers.")
        return a.detach().float() if a.dtype == torch.bfloat16 else a.detach()  # none in NumPy
    if type(a) is np.ma.MaskedArray and (masked := np.ma.count_masked(a)):
        raise ValueError(
            f"{name} is a masked array of which {masked} cells are masked: fill them (filled) or "
            "leave their rows out."
        )
    return a


def validated(estimator: Any, X: Any, *y: Any, **how: Any) -> Any:
    """X, and y where it is given, as scikit-learn validates them, in the float type of X."""
    given = (as_given(X, "X"), *(as_given(one, "y") for one in y))
    _refuse_dates(given if how.get("y_numeric") else given[:1])
    with _as_floats():
        return validate_data(estimator, *given, dtype=float_types(given[0]), **how)


@contextmanager
def _as_floats() -> Iterator[None]:
    """Numbers of other types become floats: those beyond the largest are refused, without warning.

    Raises ValueError for integers; validation itself refuses what became infinite.
    """
    try:
        with np.errstate(over="ignore"):
            yield
    except OverflowError as error:
        raise ValueError(
            f"a number is beyond the largest float ({error}): divide its column by a power of ten."
        ) from None


def _refuse_dates(given: Sequence[Any]) -> None:
    """As numbers a missing date would be the least integer, and nobody would be told."""
    for name, a in zip(("X", "y"), given, strict=False):
        if dates := _dates(a):
            raise ValueError(
                f"{name} holds dates or durations ({dates}): give numbers, such as days since "
                "a date of yours."
            )


def _dates(a: Any) -> str:
    """What of an array, a series or a data frame of any library is dates or durations, if any."""
    if is_into_dataframe(a):
        types = narwhals.from_native(a).schema.items()
        return ", ".join(f"{name!r} is {kind}" for name, kind in types if kind.is_temporal())
    if is_into_series(a):
        kind = narwhals.from_native(a, series_only=True).dtype
        return str(kind) if kind.is_temporal() else ""
    return str(a.dtype) if type(a) is np.ndarray and a.dtype.kind in "mM" else ""


def finite_numbers(values: NDArray[Any], what: str) -> Floats:
    """Values of any type as finite numbers.

    Raises TableError where one is none.
    """
    try:
        found = np.asarray(None if values.dtype.kind in "mM" else values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        wrong = values[~np.isfinite(found)][0] if found.shape == values.shape else values[0]
        raise TableError(f"{what} is {str(wrong)!r} in some rows: finite numbers are needed.")
    return found


def name_of(y: Any) -> str:
    """The name of a series, or of the first column of a data frame; "y" where there is none."""
    if is_into_dataframe(y):
        return str(narwhals.from_native(y).columns[0])
    return str((narwhals.from_native(y, series_only=True).name if is_into_series(y) else "") or "y")


def float_types(X: Any) -> Any:
    """Types that validation leaves alone, in the namespace of X: floats, and arrays of integers.

    An array of small integers is widened in chunks, not as a whole.
    """
    if type(X) is np.ndarray and X.dtype.kind in "iub":
        return "numeric"
    xp, _ = get_namespace(X)
    return xp.float64, xp.float32


def has_namespace(a: Any) -> bool:
    """Whether it is a tensor, or an array whose library computes where dispatch is on."""
    return type(a) is torch.Tensor or get_namespace(a)[1]


def to_numpy(a: Any) -> NDArray[Any]:
    """Any validated array as NumPy (a torch tensor is copied to the CPU)."""
    if type(a) is torch.Tensor:
        return a.detach().cpu().numpy()
    return np.asarray(_convert_to_numpy(a, get_namespace(a)[0]))


def given_weights(sample_weight: Any) -> Any:
    """Row weights as scikit-learn's check takes them: None, one number for all, or an array."""
    as_is = sample_weight is None or np.isscalar(sample_weight)
    return sample_weight if as_is else to_numpy(as_given(sample_weight, "sample_weight"))


def empty_like(X: Any) -> Any:
    """An array of no number in X's namespace and on its device, where array-API dispatch is on.

    It stands for X where the namespace is all that is to be kept.
    """
    return like(np.zeros(0), X)


def kept_like(values: NDArray[Any], empty: Any) -> Any:
    """`values` in the namespace that :func:`empty_like` kept, whatever dispatch is now."""
    if type(empty) is np.ndarray:
        return values
    with config_context(array_api_dispatch=True):
        return like(values, empty)


def like(values: NDArray[Any], X: Any) -> Any:
    """`values` in the namespace and on the device of X where array-API dispatch is on."""
    if not get_config()["array_api_dispatch"]:
        return values
    if type(X) is torch.Tensor:
        return torch.as_tensor(values).to(X.device)
    xp, is_array_api = get_namespace(X)
    return xp.asarray(values, device=device(X)) if is_array_api else values


def classifies(estimator: Any) -> bool:
    """Whether an estimator calls itself a classifier, or, of another library, has probabilities."""
    try:
        return is_classifier(estimator)
    except AttributeError:  # no tags of scikit-learn
        return gives_probabilities(estimator)


def gives_probabilities(estimator: Any) -> bool:
    """Whether it has `predict_proba`, which an SVM or a ridge classifier has not."""
    return callable(getattr(estimator, "predict_proba", None))


def probabilities(estimator: Any, X: NDArray[np.float64], K: int) -> NDArray[np.float64]:
    """Probabilities (n, K) of all class codes; zero for those absent from the training rows.

    Without probabilities: one at the predicted class.
    """
    P = np.zeros((len(X), K))
    if len(X) and gives_probabilities(estimator):
        P[:, np.asarray(estimator.classes_, dtype=int)] = estimator.predict_proba(X)
    elif len(X):
        P[np.arange(len(X)), np.asarray(estimator.predict(X), dtype=int)] = 1.0
    return P


def seed_from(random_state: Any) -> int:
    """Seed of the named streams: an int is itself, None is 0, a generator gives its next number."""
    match random_state:
        case None:
            return 0
        case int() | np.integer() if 0 <= int(random_state) < 2**64:
            return int(random_state)
        case np.random.RandomState():
            return int(random_state.randint(2**31 - 1))
        case np.random.Generator():
            return int(random_state.integers(2**31 - 1))
    raise ValueError(
        f"random_state is {random_state!r}: give None, an integer from 0 to 2**64 - 1, or a "
        "NumPy random generator."
    )


def given_names(estimator: Any) -> list[str] | None:
    """Names of the inputs, where the fit saw any."""
    names = estimator.__dict__.get("feature_names_in_")
    return None if names is None else [str(name) for name in names]


def set_names(estimator: Any, names: Sequence[str] | None) -> None:
    """Keep the names of the inputs, as scikit-learn does; None: there are none."""
    if names is None:
        estimator.__dict__.pop("feature_names_in_", None)
    else:
        estimator.feature_names_in_ = np.array(names, dtype=object)


#: Of the largest weight; squares beyond are no floating-point numbers.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100


def row_weights(sample_weight: Any, X: Floats) -> Floats:
    given = given_weights(sample_weight)
    given = np.full(len(X), given) if np.isscalar(given) else given
    with _as_floats():
        w = _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)
    if LEAST_WEIGHT <= w.max() <= LARGEST_WEIGHT:
        return w
    raise ValueError(
        f"the largest sample_weight is {w.max():g}: give weights of which it is from "
        f"{LEAST_WEIGHT:g} to {LARGEST_WEIGHT:g}."
    )


#: Bandwidths, in units of the standardised inputs; squares beyond are no floating-point numbers.
LEAST_BANDWIDTH, LARGEST_BANDWIDTH = 1e-100, 1e100


def _as_float(value: Any) -> float:
    """The number that `value` is; nan for what is none, digits in quotes among it."""
    try:
        return math.nan if type(value) is str else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_positive(name: str, value: Any, *, zero: bool = False, none: str = "") -> float:
    """`value` as a finite number > 0 (>= 0 with `zero`); `none` tells what else is allowed."""
    number = _as_float(value)
    if math.isfinite(number) and (number > 0 or (zero and number == 0)):
        return number
    least = "non-negative" if zero else "positive"
    raise ValueError(f"{name} is {value!r}: give a {least} number{none}.")


def positive_or_none(name: str, value: Any, *, zero: bool = False) -> float | None:
    return None if value is None else check_positive(name, value, zero=zero, none=" or None")


#: Neurons, rounds and steps at most, of which more never end; and numbers of rows.
MOST, MOST_ROWS = 10**6, 10**12


def check_count(
    name: str, value: Any, *, least: int = 1, most: int = MOST_ROWS, none: str = ""
) -> int:
    """`value` as an integer from `least` to `most`; `none` tells what else is allowed."""
    number = _as_float(value)
    if number.is_integer() and least <= number <= most:
        return int(number)
    range_ = f"from {least} to {most:,}" if number > most else f"of at least {least}"
    raise ValueError(f"{name} is {value!r}: give an integer {range_}{none}.")


def count_or_none(name: str, value: Any, *, least: int = 1, most: int = MOST_ROWS) -> int | None:
    if value is None:
        return None
    return check_count(name, value, least=least, most=most, none=" or None")


def check_choice(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """That of the `allowed` values which `value` is."""
    try:
        return allowed[list(allowed).index(value)]
    except (ValueError, RuntimeError):  # also where an array or tensor has no one answer to ==
        pass
    raise ValueError(f"{name} is {value!r}: allowed are {', '.join(map(repr, allowed))}.")


def check_bytes(memory_limit: Any) -> int | None:
    """A limit of memory as a whole number of bytes, or None."""
    limit = positive_or_none("memory_limit", memory_limit)
    return None if limit is None else math.ceil(limit)


def check_head(alpha: Any, penalty_by: Any) -> RidgeHead:
    """The ridge head of penalty `alpha`, or of one chosen by `penalty_by`."""
    alpha = positive_or_none("alpha", alpha)
    return RidgeHead(alpha, check_choice("penalty_by", penalty_by, ("loo", "gcv", "validation")))


def check_kernel(name: Any, bandwidth: Any, alpha: Any) -> KernelChoice:
    """Kernel, bandwidth and penalty, each of them or None."""
    name = check_choice("kernel", name, (*NAMES, None))
    width = positive_or_none("bandwidth", bandwidth)
    if width is not None and not LEAST_BANDWIDTH <= width <= LARGEST_BANDWIDTH:
        raise ValueError(
            f"bandwidth is {width}: give a number from {LEAST_BANDWIDTH:g} to "
            f"{LARGEST_BANDWIDTH:g}, in units of the standardised inputs."
        )
    return KernelChoice(name, width, positive_or_none("alpha", alpha, zero=True))


def check_directions(value: Any) -> int | str | None:
    """A number of directions as an int, or "auto" or None."""
    if value is None or (type(value) is str and value == "auto"):
        return value
    number = math.nan if type(value) in (bool, np.bool_) else _as_float(value)
    if number.is_integer() and number >= 1:
        return int(number)
    raise ValueError(f"directions is {value!r}: give an integer of at least 1, 'auto' or None.")


def warn_ill_scaled(X: Floats, names: list[str], *, standardise: bool) -> None:
    """Warn, naming the columns, when one column's spread swamps the others and nothing rescales."""
    if standardise or X.shape[1] < 2:
        return
    spread = X.std(axis=0)
    typical = np.median(spread[spread > 0]) if (spread > 0).any() else 0.0
    large = [name for name, s in zip(names, spread, strict=True) if s > 1e4 * typical > 0]
    if large:
        warnings.warn(
            f"{', '.join(large)} spreads over 10,000 times more than the typical column and will "
            "swamp the distances: use standardise=True, or rescale it.",
            UserWarning,
            stacklevel=4,
        )
