"""From a table to the whitened rows and target codes that a diagnosis reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gradfeat.diagnostics.hermite_degrees import feature_count
from gradfeat.errors import TableError
from gradfeat.estimators.training import ranks, row_hashes
from gradfeat.maths.statistics.moments import principal_whitening
from gradfeat.maths.streams import NullDraws, null_draws, unit_draws
from gradfeat.rows.engine import Engine
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.encode import TableEncoder
from gradfeat.table.first_pass import KnownTable, known_table
from gradfeat.table.identifiers import about_texts
from gradfeat.table.interpret import level_name
from gradfeat.table.prepared import about_quantity, input_columns, target_values, unread_cells
from gradfeat.table.request import Request
from gradfeat.table.results import Remark
from gradfeat.table.row_sample import SAMPLE_ROWS, column_of, copy_order
from gradfeat.table.screening import screen
from gradfeat.table.split import numbered, parse_groups, parse_time, stretches, time_blocks
from gradfeat.table.target import Target
from gradfeat.table.unread import unread_sentence
from gradfeat.wording import counted, listed, percent

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


#: Rows that are used at most, and at least; and at most of wide tables, in which there are many
#: products of two inputs.
MOST_ROWS, FEWEST_ROWS = 5_000, 50
FEWER_ROWS, MANY_PRODUCTS = 2_000, 1_000

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
    what to know of the columns before anything that is found, and last what was done to the rows,
    of which `known` have a target.
    `stretch` (n,): in which third of the time, or of the groups, each row lies, where a column of
    these was asked for; `units` (n,) the group itself, or one of more stretches of time, and `time`
    (n,) what orders the rows.
    """

    target: Target
    encoder: TableEncoder
    source: tuple[str, ...]
    inputs: StandardInputs
    y: Tensor
    remarks: tuple[Remark, ...]
    known: int
    stretch: NDArray[np.intp] | None = None
    units: NDArray[np.intp] | None = None
    time: Floats | None = None

    def nulls(self, draws: int, seed: int) -> NullDraws:
        """Shuffles and signs of rows, or of the units that they depend on each other within."""
        if self.units is None:
            return null_draws(len(self.y), draws, seed)
        return unit_draws(self.units, self.time, draws, seed)

    def first(self, n: int) -> DiagnosisRows:
        """With the first n rows alone, which are as random as all."""
        columns, whitened = self.inputs.columns[:n], self.inputs.whitened[:n]
        inputs = replace(self.inputs, columns=columns, whitened=whitened)
        stretch = None if self.stretch is None else self.stretch[:n]
        units = None if self.units is None else numbered(self.units[:n])
        time = None if self.time is None else self.time[:n]
        return replace(self, inputs=inputs, y=self.y[:n], stretch=stretch, units=units, time=time)


def diagnosis_rows(table: Tables, request: Request, engine: Engine | None = None) -> DiagnosisRows:
    """Read and encode the table as `gradfeat fit` does, take rows at random, whiten them.

    Columns are read by a sample of the rows, and some of these are drawn, by the hash of their
    contents: rows that are held and rows that stream (with an `engine`) give the same.
    """
    known = known_table(table, request, engine)
    request, target, summary = known.request, known.target, known.read.summary
    n, name, when = summary.known, request.target, request.time_column
    who = request.group_column
    if n < FEWEST_ROWS:
        raise TableError(
            f"The target {name!r} is known in {counted(n, 'row')}, and a diagnosis needs "
            f"at least {FEWEST_ROWS} to tell a signal from chance: give more rows."
        )
    sample = summary.sample
    seen, drawn = (
        sample.rows(sample.some(sample.count, most)) for most in (SAMPLE_ROWS, MOST_ROWS)
    )
    others = request.not_inputs
    encoder = TableEncoder(request.missing, request.dates, request.decimal, request.category)
    inputs, y = input_columns(drawn, others), target_values(column_of(drawn, name), target.classes)
    classes = len(target.classes)
    screened = screen(inputs, y, name, classes, summary.rows, False, False, encoder, target.classes)
    encoder.fit(input_columns(seen, others).drop(columns=[*screened.left_out]))
    X = encoder.transform(drawn)
    order = _order(X, request.seed)
    X, y, kept = X[order], target.scale.learned(y)[order], np.flatnonzero(np.ptp(X, axis=0) > 0)
    whitened = standard_inputs(X[:, kept])
    wide = feature_count(whitened.whitened.shape[1], 2) > MANY_PRODUCTS
    names = [encoder.feature_names_[i] for i in kept]
    levels = {note.name for note in encoder.notes_ if note.kind == "category"}
    each = zip(names, (encoder.source_[i] for i in kept), strict=True)
    source = tuple(level_name(own, one) if own in levels else own for one, own in each)
    first = [target.remark, *known.said, *_about_cells(known, encoder, engine)]
    first += [*screened.remarks, *about_texts(encoder.notes_), *about_quantity(target, name, y)]
    if target.scale.shift is not None:
        first.append(f"All that is said here is of {target.scale.learned_name(name)}.")
    last = [*_about_rows(len(y), n), *_about_inputs(whitened, source)]
    if classes > MOST_CODES:
        last.append(
            f"Of the {classes} classes the {MOST_CODES} most frequent ones are looked at, each "
            "against all others."
        )
    thirds = units = place = None
    if when is not None:
        last.append(
            f"Shares of the variance are of rows left out a stretch of {when!r} at a time, and "
            "tests move all rows along in time, as neighbours tell of each other."
        )
        place = parse_time(drawn, when, request.dates)[order]
        thirds, units = stretches(place, STRETCHES), time_blocks(place)
    if who is not None:
        last.append(
            f"Shares of the variance are of groups of {who!r} left out together, and tests "
            "exchange whole groups, as rows of one tell of each other."
        )
        groups = parse_groups(drawn, who, request.seed)[order]
        thirds, units = stretches(groups, STRETCHES), numbered(groups)
    remarks = (*map(Remark, filter(None, first)), *(Remark(words, "last") for words in last))
    codes = _codes(y, classes, name)
    rows = (target, encoder, source, whitened, codes, remarks, n)
    found = DiagnosisRows(*rows, thirds, units, place)
    return found.first(FEWER_ROWS) if wide else found


def _order(X: Floats, seed: int) -> NDArray[np.intp]:
    """An order of rows (n, d) as good as a random one, whatever units and signs columns have.

    Rows that are alike but for signs, as all of binary columns are, stay in an order as random as
    that in which they come.
    """
    places = ranks(X)
    middle = places.max(axis=0) / 2
    alike = row_hashes(np.abs(places - middle), seed) >> np.uint64(1)
    return copy_order(alike.astype(np.int64))


def _codes(y: Floats, classes: int, name: str) -> Tensor:
    """Columns of numbers whose squared errors are counted."""
    if np.ptp(y) == 0:
        raise TableError(
            f"The target {name!r} is the same in all {len(y):,} rows that were drawn: give a "
            "target that varies more often."
        )
    if not classes:
        return torch.as_tensor(y / np.abs(y).max())[:, None]
    codes = np.argsort(-np.bincount(y.astype(np.int64)), kind="stable")[:MOST_CODES]
    codes = codes[:1] if classes == 2 else codes
    return torch.as_tensor(y[:, None] == codes).double()


def _about_rows(drawn: int, n: int) -> list[str]:
    return ["The rows that are used were drawn at random, by a hash."] if drawn < n else []


def _about_cells(known: KnownTable, encoder: TableEncoder, engine: Engine | None) -> list[str]:
    unread = unread_cells(known, encoder, (), engine)
    return [*encoder.remarks, *([unread_sentence(unread)] if unread else [])]


def _about_inputs(inputs: StandardInputs, source: tuple[str, ...]) -> list[str]:
    said, q = [], inputs.whitened.shape[1]
    if q < inputs.varying:
        said.append(
            f"The {q} principal directions with the largest variance are looked at, of "
            f"{inputs.varying}: more than that cannot be told from chance with so many rows."
        )
    order = np.argsort(-inputs.clipped, kind="stable")
    far = [*dict.fromkeys(source[i] for i in order if inputs.clipped[i] > NAMED_FROM)]
    if far:
        more = f" and {len(far) - _NAMED} more" if len(far) > _NAMED else ""
        said.append(
            f"Values further than {FAR:g} standard deviations from the median were moved to that "
            f"distance, in {listed(far[:_NAMED])}{more} (the standard deviation is that of a bell "
            "curve with the same middle 99 %)."
        )
    if inputs.pulled > NAMED_FROM:
        said.append(
            f"Rows far from all others once the inputs are whitened ({percent(inputs.pulled)}) "
            "were moved towards the others, so that they do not decide alone."
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
