"""From a table to the whitened rows and target codes that a diagnosis reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gradfeat.drawing.numbers import count, listed, percent
from gradfeat.maths.statistics.moments import principal_whitening
from gradfeat.maths.streams import numpy_stream
from gradfeat.rows.sources.tables import FrameTables, Tables
from gradfeat.table.encode import TableEncoder
from gradfeat.table.errors import TableError
from gradfeat.table.first_pass import with_target_read
from gradfeat.table.interpret import level_name
from gradfeat.table.notes import unread_sentence, with_places
from gradfeat.table.other_rows import other_rows
from gradfeat.table.prepared import chosen_columns, input_columns
from gradfeat.table.request import Request
from gradfeat.table.results import Remark
from gradfeat.table.screening import about_tails, screen
from gradfeat.table.split import parse_time, stretches
from gradfeat.table.target import Target, prepare_target, target_scale

Floats = NDArray[np.float64]

#: Values further than this from a column's median are pulled in, in units of its middle 99 %.
FAR = 5.0

#: The middle 99 % of N(0, 1) is so wide.
_MIDDLE = 5.15

#: Whitened rows longer than sqrt(q) by this are pulled in (N(0, I): |z| is sqrt(q) +- 0.7).
LONG = 3.0

#: Whitened inputs at most, and rows that there are at least for each.
MOST_INPUTS, ROWS_PER_INPUT = 100, 5


@dataclass(frozen=True)
class StandardInputs:
    """Rows as the statistics read them.

    `columns` (n, d): encoded columns, outliers pulled in, mean 0 and standard deviation 1;
    `whitened` (n, q): the same rows whitened, long ones pulled in; `varying`: directions that vary
    at all; q of them are kept; `clipped` (d,): share of the values of each column that was pulled
    in; `pulled`: share of the rows that was pulled in.
    """

    columns: Floats
    whitened: Tensor
    varying: int
    clipped: Floats
    pulled: float


def standard_inputs(X: Floats) -> StandardInputs:
    """Standardise, clip and whiten encoded columns X (n, d), none of which is constant."""
    columns, clipped = _clipped(X)
    rows = torch.as_tensor(columns)
    most = max(1, min(MOST_INPUTS, len(X) // ROWS_PER_INPUT))
    fit = principal_whitening(rows, most)
    Z = fit(rows)
    length, longest = Z.norm(dim=1), Z.shape[1] ** 0.5 + LONG
    Z = Z * (longest / length.clamp(min=longest))[:, None]
    pulled = float((length > longest).double().mean())
    return StandardInputs(columns, Z, fit.varying, clipped, pulled)


def _clipped(X: Floats) -> tuple[Floats, Floats]:
    """Standardised columns with outliers pulled in, and the share of those in each.

    A column whose middle 99 % is one value stays as it is, and so does what lies in the middle
    99 %: both values of 0 and 1.
    """
    X = X / np.abs(X).max(axis=0)
    low, middle, high = np.quantile(X, [0.005, 0.5, 0.995], axis=0)
    reach = np.where(high > low, FAR * (high - low) / _MIDDLE, np.inf)
    near = np.clip(X, np.minimum(middle - reach, low), np.maximum(middle + reach, high))
    return _standardised(near), (near != X).mean(axis=0)


def _standardised(X: Floats) -> Floats:
    """In units of the largest deviation first, so that squares neither overflow nor vanish."""
    X = X - X.mean(axis=0)
    X = X / np.abs(X).max(axis=0)
    return X / X.std(axis=0)


#: Rows that the tests read at most, and at least.
MOST_ROWS, FEWEST_ROWS = 5_000, 50

#: Stretches of time, each of which models are tested on in turn.
STRETCHES = 3

#: Classes whose 0/1 codes are targets at most: the most frequent ones.
MOST_CODES = 5

#: Share of a column's values pulled in from which it is named.
NAMED_FROM = 0.001

_NAMED = 5


@dataclass(frozen=True)
class DiagnosisRows:
    """Rows to diagnose.

    `source` names the original column of each of the encoded columns in `inputs`, or its level;
    `y` (n, c) is the target, or 0/1 codes of classes (one column for two classes). `remarks` say
    what to know of the columns before anything that is found, and last what was done to the rows.
    `stretch` (n,): in which third of the time each row lies, where a column of times was asked for.
    """

    target: Target
    encoder: TableEncoder
    source: tuple[str, ...]
    inputs: StandardInputs
    y: Tensor
    remarks: tuple[Remark, ...]
    stretch: NDArray[np.intp] | None = None

    def first(self, n: int) -> DiagnosisRows:
        """With the first n rows alone, which are as random as all."""
        columns, whitened = self.inputs.columns[:n], self.inputs.whitened[:n]
        inputs = replace(self.inputs, columns=columns, whitened=whitened)
        stretch = None if self.stretch is None else self.stretch[:n]
        return replace(self, inputs=inputs, y=self.y[:n], stretch=stretch)


def diagnosis_rows(
    frame: pd.DataFrame, request: Request, read_from: Tables | None = None
) -> DiagnosisRows:
    """Encode the table as `gradfeat fit` does, take rows at random, whiten them.

    `read_from` knows the places of the rows.
    """
    table = read_from or FrameTables(frame)
    kept = chosen_columns(frame.columns, request)
    frame = frame.loc[:, [str(name) in kept for name in frame.columns]]
    decimal = table.text.decimal
    others = other_rows(frame, np.ones(len(frame), np.int64), decimal)
    frame, without = others.masked(frame), others.said(table)
    frame, said, left_out = with_target_read(frame, request, read_from=read_from)
    target = prepare_target(frame, request.target, request.task, left_out)
    target = replace(target, remark=" ".join([target.remark, *without, *said]))
    n = len(target.values)
    if n < FEWEST_ROWS:
        raise TableError(
            f"The target {request.target!r} is known in {count(n, 'row')}, and a diagnosis needs "
            f"at least {FEWEST_ROWS} to tell a signal from chance: give more rows."
        )
    target, tails = _on_its_scale(target, request)
    when, table = request.time_column, frame.iloc[target.rows]
    time = None if when is None else parse_time(table, when, request.dates)
    table = input_columns(table, [request.target, *([] if when is None else [when])])
    rows = numpy_stream(request.seed, "diagnosis rows").permutation(n)[:MOST_ROWS]
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    drawn, y = table.iloc[rows], target.values[rows].astype(np.float64)
    encoder = TableEncoder(request.missing, request.dates, decimal)
    classes = len(target.classes)
    screened = screen(drawn, y, request.target, classes, n, False, False, encoder)
    table = table.drop(columns=[*screened.left_out])
    encoder.fit(table)
    X, y = encoder.transform(table.iloc[rows]), _codes(target, rows, request.target)
    varies = np.ptp(X, axis=0) > 0
    inputs = standard_inputs(X[:, varies])
    kept = np.flatnonzero(varies)
    names = [encoder.feature_names_[i] for i in kept]
    levels = {note.name for note in encoder.notes_ if note.kind == "category"}
    each = zip(names, (encoder.source_[i] for i in kept), strict=True)
    source = tuple(level_name(own, name) if own in levels else own for name, own in each)
    cells = _about_cells(encoder, target, read_from or FrameTables(frame))
    first = [*([target.remark] if target.remark else []), *cells, *screened.remarks, *tails]
    last = [*_about_rows(target, len(rows)), *_about_inputs(inputs, names)]
    if when is not None:
        last.append(f"Shares of the variance are of rows left out a stretch of {when!r} at a time.")
    remarks = (*map(Remark, first), *(Remark(words, "last") for words in last))
    thirds = None if time is None else stretches(time[rows], STRETCHES)
    return DiagnosisRows(target, encoder, source, inputs, y, remarks, thirds)


def _on_its_scale(target: Target, request: Request) -> tuple[Target, list[str]]:
    """The target as it is looked at, and what is said of its tails or its logarithm."""
    y, name, classes = target.values.astype(np.float64), request.target, bool(target.classes)
    scale = target_scale(request.target_transform, name, float(y.min()), classes)
    if scale.shift is None:
        return target, [] if classes else about_tails(name, y)
    said = f"All that is said here is of {scale.learned_name(name)}."
    return replace(target, values=scale.learned(y), scale=scale), [said]


def _codes(target: Target, rows: np.ndarray, name: str) -> Tensor:
    """Columns of numbers whose squared errors are counted."""
    values = target.values[rows]
    if np.ptp(values) == 0:
        raise TableError(
            f"The target {name!r} is the same in all {len(rows):,} rows that were drawn: give a "
            "target that varies more often."
        )
    if not target.classes:
        size = np.abs(values).max()
        return torch.as_tensor(values / size)[:, None]
    codes = np.argsort(-np.bincount(values), kind="stable")[:MOST_CODES]
    codes = codes[:1] if len(target.classes) == 2 else codes
    return torch.as_tensor(values[:, None] == codes).double()


def _about_rows(target: Target, rows: int) -> list[str]:
    said: list[str] = []
    if rows < len(target.values):
        said.append(f"The tests read {rows:,} of the {len(target.values):,} rows, drawn at random.")
    if len(target.classes) > MOST_CODES:
        said.append(
            f"Of the {len(target.classes)} classes the {MOST_CODES} most frequent ones are looked "
            "at, each against all others."
        )
    return said


def _about_cells(encoder: TableEncoder, target: Target, table: Tables) -> list[str]:
    at = [replace(one, row=int(target.rows[one.row])) for one in encoder.unread_]
    said = [note.remark for note in encoder.notes_ if note.remark]
    return [*said, *([unread_sentence(with_places(at, table))] if at else [])]


def _about_inputs(inputs: StandardInputs, names: list[str]) -> list[str]:
    said, q = [], inputs.whitened.shape[1]
    if q < inputs.varying:
        said.append(
            f"The {q} principal directions with the largest variance are looked at, of "
            f"{inputs.varying}: more than that cannot be told from chance with so many rows."
        )
    order = np.argsort(-inputs.clipped, kind="stable")
    far = [names[i] for i in order if inputs.clipped[i] > NAMED_FROM]
    if far:
        more = f" and {len(far) - _NAMED} more" if len(far) > _NAMED else ""
        said.append(
            f"Values further than {FAR:g} spreads from the median were pulled in, in "
            f"{listed(far[:_NAMED])}{more} (a spread is that of "
            "a bell curve with the same middle 99 %)."
        )
    if inputs.pulled > NAMED_FROM:
        said.append(
            f"Rows far from all others once the inputs are whitened ({percent(inputs.pulled)}) "
            "were pulled in, so that they do not decide alone."
        )
    return said


def label_slices(y: Float[Tensor, "n 1"], count: int) -> Float[Tensor, "n c"]:
    """1{y in slice} for slices of equal numbers of rows, fewer where values repeat.

    Their strengths at a degree sum to what all functions of y that are constant on slices show
    there, so nothing has to be chosen: the sliced form of lambda_k^2 of
    `gradfeat.theory.generative_exponent`.

    Source: Li 1991 (degree 1), Cook & Weisberg 1991 (degree 2).

    >>> label_slices(torch.tensor([[3.0], [1.0], [2.0], [9.0]]).double(), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    ends = y[:, 0].quantile(torch.arange(1, count, dtype=y.dtype) / count).unique()
    slices = torch.nn.functional.one_hot(torch.bucketize(y[:, 0], ends)).to(y)
    return slices[:, slices.any(0)]
