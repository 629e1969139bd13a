"""A fitted table encoder as bytes and back, without pickle."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict, dataclass

import skrub
from skrub import TableVectorizer

from gradfeat.table.columns import ColumnPlan
from gradfeat.table.errors import TableError
from gradfeat.table.results import ColumnNote
from gradfeat.table.vectorize import Encoded

FORMAT = 2

# Types that a fitted vectorizer is made of, apart from those skops trusts by itself. Loading
# builds these and nothing else: a file that names any other type is refused.
TRUSTED = [
    "numpy.dtype",
    "pandas.DatetimeTZDtype",
    "skrub._apply_to_each_col.ApplyToEachCol",
    "skrub._check_input.CheckInputDataFrame",
    "skrub._clean_categories.CleanCategories",
    "skrub._clean_null_strings.CleanNullStrings",
    "skrub._dataframe._common.is_any_date",
    "skrub._dataframe._common.is_categorical",
    "skrub._dataframe._common.is_numeric",
    "skrub._datetime_encoder.DatetimeEncoder",
    "skrub._datetime_encoder._CircularEncoder",
    "skrub._drop_uninformative.DropUninformative",
    "skrub._duration_to_float.DurationToFloat",
    "skrub._minhash_encoder.MinHashEncoder",
    "skrub._table_vectorizer.PassThrough",
    "zoneinfo.ZoneInfo",
    "skrub._table_vectorizer.ShortReprDict",
    "skrub._table_vectorizer.TableVectorizer",
    "skrub._table_vectorizer._created_by_predicate",
    "skrub._to_datetime.ToDatetime",
    "skrub._to_float.ToFloat",
    "skrub._to_str.ToStr",
    "skrub._utils.LRUDict",
    "skrub.selectors._base.All",
    "skrub.selectors._base.And",
    "skrub.selectors._base.Cols",
    "skrub.selectors._base.Filter",
    "skrub.selectors._base.Sub",
    "skrub.selectors._selectors._cardinality_below",
]


@dataclass(frozen=True)
class State:
    """What an encoder knows beside its vectorizer; plain values only."""

    plans: tuple[ColumnPlan, ...]
    encoded: tuple[Encoded, ...]
    notes: tuple[ColumnNote, ...]


def dump(state: State, vectorizer: TableVectorizer | None) -> bytes:
    """Return a zip file of ``state.json`` and, where there is one, ``vectorizer.skops``."""
    import skops.io  # seconds, which no command that saves nothing has to wait for

    about = {"format": FORMAT, "skrub": skrub.__version__} | asdict(state)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.json", json.dumps(about))
        if vectorizer is not None:
            archive.writestr("vectorizer.skops", skops.io.dumps(vectorizer))
    return buffer.getvalue()


def load(data: bytes) -> tuple[State, TableVectorizer | None]:
    """Return what `dump` wrote.

    Raises
    ------
    TableError
        Where the bytes are cut, altered, of another format, or name a type that is not trusted.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        about = json.loads(files["state.json"])
        version, written_by = about["format"], about["skrub"]
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, ValueError) as error:
        raise TableError(
            "The saved table encoder is damaged (cut short or altered): fit and save it again."
        ) from error
    if version != FORMAT:
        raise TableError(
            f"The saved table encoder has format {version!r} and this version reads {FORMAT}: "
            "load it with the version that wrote it, or fit it again."
        )
    return _state(about), _vectorizer(files.get("vectorizer.skops"), written_by)


def _state(about: dict) -> State:
    try:
        return State(
            plans=tuple(ColumnPlan(**p | {"levels": tuple(p["levels"])}) for p in about["plans"]),
            encoded=tuple(Encoded(**part) for part in about["encoded"]),
            notes=tuple(ColumnNote(**note) for note in about["notes"]),
        )
    except (KeyError, TypeError) as error:
        raise TableError(
            "The saved table encoder lacks a part of its state: fit and save it again."
        ) from error


def _vectorizer(data: bytes | None, written_by: str) -> TableVectorizer | None:
    if data is None:
        return None
    import skops.io
    from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException

    try:
        vectorizer = skops.io.loads(data, trusted=TRUSTED)
    except UntrustedTypesFoundException as error:
        raise TableError(
            "The saved table encoder names types that are not trusted, so nothing of it was "
            "loaded: use a file that you wrote yourself."
        ) from error
    except (*_UNREADABLE, UnsupportedTypeException) as error:
        raise TableError(
            f"The saved table encoder cannot be read (it was written with skrub {written_by}, "
            f"here is {skrub.__version__}): install that version or fit it again."
        ) from error
    if not isinstance(vectorizer, TableVectorizer):
        raise TableError(
            f"The saved table encoder holds a {type(vectorizer).__name__} in place of a "
            "TableVectorizer: use a file that you wrote yourself."
        )
    return vectorizer


_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    AttributeError,
    ImportError,
    KeyError,
    TypeError,
    ValueError,
)
