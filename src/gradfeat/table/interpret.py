"""What a fitted model, and the first gradients, read from the original columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gradfeat.maths.gradients import effective_number, outer_spectrum
from gradfeat.maths.streams import numpy_stream
from gradfeat.models.gradient_features.found_features import FoundFeatures
from gradfeat.table.fitting import Fitted, predictions
from gradfeat.table.prepared import Prepared
from gradfeat.table.results import (
    Bars,
    ColumnGroup,
    Directions,
    FirstStep,
    Importances,
    Interval,
    Part,
)
from gradfeat.table.shuffling import HeldRows, blocks_of, importances, of_one_class

Floats = NDArray[np.float64]

#: Rows whose gradients are resampled, and resamples, for the bands of the spectrum.
BAND_ROWS, BAND_RESAMPLES = 500, 200

#: Share of the squared gradients that bands may leave out.
NEGLIGIBLE = 1e-6

#: Directions drawn at most.
MAX_DIRECTIONS = 3


def column_losses(
    fit: Fitted,
    table: Prepared,
    groups: Sequence[ColumnGroup],
    found: Directions | None,
    seconds: float,
    seed: int,
) -> Importances | None:
    """What a fitted model loses on the test rows where columns are shuffled.

    Columns with the largest shares of the AGOP in `found` come first, where the time is short.
    """
    source, target = table.encoder.source_, table.target
    shares = dict(zip(found.columns, found.importances.tolist(), strict=True)) if found else {}
    blocks = blocks_of(source, groups, shares)
    y, units = table.y_test.astype(np.float64), table.units
    said = fit.predictions
    unsure = said is not None and said.probabilities is not None and of_one_class(said.values)
    rows = HeldRows(table.test, y, bool(target.classes), units, unsure)

    def predict(X: Floats) -> Floats:
        said = predictions(fit.estimator, X, target)
        judged = said.probabilities if rows.probabilities else None
        return said.values if judged is None else judged

    return importances(fit.method.name, predict, rows, blocks, seconds, seed)


def fold(values: Floats, source: tuple[str, ...], columns: tuple[str, ...]) -> Floats:
    """Signed loadings (d, r) of encoded columns as loadings (p, r) of the original ones.

    The size is the norm over a column's encoded parts, so squares still sum to one; the sign is
    that of its largest part.
    """
    out = np.zeros((len(columns), values.shape[1]))
    owner = np.array(source)
    for i, name in enumerate(columns):
        part = values[owner == name]
        if len(part):
            largest = np.take_along_axis(part, np.abs(part).argmax(0)[None], axis=0)[0]
            out[i] = np.sign(largest) * np.sqrt((part**2).sum(axis=0))
    return out


def _gradients(model: Any, Z: Floats) -> Floats:
    """Gradients (n, c, d) of a fitted model at standardised rows Z (n, d)."""
    parameter = next(iter(model.predictor_.tensors().values()))
    J = model.predictor_.gradient(torch.as_tensor(Z).to(parameter))
    return np.asarray(J.double().cpu().numpy())


def spectrum_bands(J: Floats, seed: int) -> tuple[Floats, Floats, Floats, Interval]:
    """Eigenvalues of the AGOP as shares, 95 % bands, and the number of effective directions.

    The model is held fixed and the rows whose gradients J (n, c, d) are averaged are resampled.
    """
    rng, d = numpy_stream(seed, "spectrum bootstrap"), J.shape[2]

    J = _leading_coordinates(J)

    def shares(weights: Floats) -> Floats:
        scaled = (np.sqrt(weights / weights.sum())[:, None, None] * J).reshape(-1, J.shape[2])
        values = np.zeros(d)
        found = np.clip(np.linalg.eigvalsh(scaled.T @ scaled)[::-1], 0, None)
        values[: len(found)] = found
        return values / values.sum() if values.sum() > 0 else values

    centre = shares(np.ones(len(J)))
    n = len(J)
    draws = rng.multinomial(n, np.full(n, 1 / n), size=BAND_RESAMPLES).astype(np.float64)
    spectra = np.array([shares(w) for w in draws])
    counts = [effective_number(values) for values in spectra]
    low, high = np.quantile(spectra, [0.025, 0.975], axis=0)
    r_low, r_high = np.quantile(counts, [0.025, 0.975])
    return centre, low, high, Interval(effective_number(centre), float(r_low), float(r_high))


def _leading_coordinates(J: Floats) -> Floats:
    """Gradients (n, c, d) along the directions that carry all but `NEGLIGIBLE` of their squares.

    Spectra of resamples are then of as many numbers as matter, and not of all columns.
    """
    values, V = outer_spectrum(torch.from_numpy(J).flatten(0, 1))
    left = values.sum() - values.cumsum(0)
    return np.asarray(J @ V[:, : 1 + int((left > NEGLIGIBLE * values.sum()).sum())].numpy())


def slope_shares(
    share: Floats, J: Floats, Z: Floats, owner: NDArray[np.str_], groups: Sequence[ColumnGroup]
) -> Floats:
    """Shares (d,) of the squared slope, those of a group so that they add up to its joint slope.

    The columns g of a group do not move alone: opposite slopes of two that agree cancel. With the
    correlations C of its encoded columns over rows Z (n, d), gradients J (n, c, d) give it
    ``mean(J_g C J_g) / mean(J_g J_g)`` of the sum of its columns' shares; all add up to 1 again.
    """
    share = share.copy()
    for group in groups:
        at = np.flatnonzero(np.isin(owner, group.columns))
        part, rows = J[:, :, at].reshape(-1, len(at)), Z[:, at] - Z[:, at].mean(axis=0)
        size = np.sqrt((rows**2).sum(axis=0))
        rows = rows / np.where(size > 0, size, 1.0)
        alone = (part**2).sum()
        share[at] *= ((part @ rows.T) ** 2).sum() / alone if alone > 0 else 1.0
    return share / share.sum() if share.sum() > 0 else share


def directions(
    name: str,
    model: Any,
    X: Floats,
    encoded: tuple[str, ...],
    source: tuple[str, ...],
    columns: tuple[str, ...],
    seed: int,
    levels: frozenset[str] = frozenset(),
    groups: Sequence[ColumnGroup] = (),
) -> Directions | None:
    """Directions of a fitted gradfeat estimator on test rows X (n, d); None for a constant fit.

    `levels` are the columns with an encoded column a level, `groups` those that move together. The
    number of effective directions is the estimator's, of its training rows, and its interval goes
    on to that of the test rows.
    """
    rows = model.standardised(X)
    J = _gradients(model, rows[:BAND_ROWS])
    values, low, high, number = spectrum_bands(J, seed)
    if number.estimate == 0:
        return None
    own = float(model.n_effective_directions_ or number.estimate)
    number = Interval(own, min(own, number.low), max(own, number.high))
    r = int(min(X.shape[1], max(2, min(MAX_DIRECTIONS, number.estimate))))
    loadings = model.leading_directions(r)
    Z = rows @ loadings[:, :2]
    if Z.shape[1] == 1:
        Z = np.column_stack([Z, np.full(len(Z), np.nan)])
    owner = np.array(source)
    share = slope_shares(np.asarray(model.importances_, float), J, rows[:BAND_ROWS], owner, groups)
    importances = np.array([share[owner == column].sum() for column in columns])
    return Directions(
        method=name,
        encoded=encoded,
        columns=columns,
        loadings=loadings,
        bars=bars_of(model, loadings, encoded, source, levels),
        importances=importances,
        eigenvalues=values,
        eigenvalues_low=low,
        eigenvalues_high=high,
        n_effective=number,
        projections=Z,
    )


def level_name(column: str, encoded: str) -> str:
    """What the encoded column of a level is called.

    >>> level_name("kind", "kind_red")
    'kind: red'
    """
    return f"{column}: {encoded.removeprefix(column).strip('_') or encoded}"


def bars_of(
    model: Any,
    loadings: Floats,
    encoded: tuple[str, ...],
    source: tuple[str, ...],
    levels: frozenset[str],
) -> Bars:
    """A bar a number and a level; one without a sign for texts, and for cyclic parts of dates.

    Of a date the seconds have a sign, its hours and weekdays a size alone: they lie on circles.

    A level's is the position along a direction of a row with that level and the mean of all other
    columns, times the root of the level's share of the training rows. The squares of a column's
    bars add up to the variance that it alone gives the positions of rows, as the square of a
    number's does: a level of one row in a thousand does not stand above all others.
    """
    owner = np.array(source)
    names: list[str] = []
    weights: list[Floats] = []
    signed: list[bool] = []
    for column in dict.fromkeys(source):
        at = np.flatnonzero(owner == column)
        own = [encoded[i] for i in at]
        if column in levels:
            found = _level_bars(model, loadings, at)
            labels = [level_name(column, name) for name in own]
            signs = [True] * len(at)
        else:
            labels, places = zip(*_parts(own), strict=True)
            signs = [len(i) == 1 for i in places]
            parts = [loadings[at[i]] for i in places]
            found = [part[0] if len(part) == 1 else np.linalg.norm(part, axis=0) for part in parts]
        names += labels
        weights += [*found]
        signed += signs
    return Bars(tuple(names), np.array(weights), tuple(signed))


def _level_bars(model: Any, loadings: Floats, at: NDArray[np.intp]) -> Floats:
    """Bars (k, r) of the levels whose 0/1 columns of the training rows are `at` (k,)."""
    rows = np.zeros((len(at) + 1, len(loadings)))
    rows[np.arange(len(at)), at] = 1.0
    *ones, zero = model.standardised(rows)[:, at]
    ones = np.array(ones)
    share = np.clip(-zero / (ones.diagonal() - zero), 0.0, 1.0)
    return np.sqrt(share)[:, None] * (ones @ loadings[at])


def _parts(names: Sequence[str]) -> list[tuple[str, NDArray[np.intp]]]:
    """Encoded names of a column, those that count together as one: its stem, and where they are."""
    stems = np.array([name.rstrip("0123456789").removesuffix("_") for name in names])
    each = [np.flatnonzero(stems == stem) for stem in dict.fromkeys(stems)]
    stem = [str(stems[at[0]]).removesuffix("_circular") for at in each]
    return [
        (names[int(at[0])] if len(at) == 1 else s, at) for s, at in zip(stem, each, strict=True)
    ]


def first_step(fits: Sequence[Fitted], table: Prepared) -> FirstStep | None:
    """Of the first fit that is made of gradient features; None where none of them is."""
    for fit in fits:
        found = None if fit.estimator is None else fit.method.found(fit.estimator)
        if found is not None:
            source = table.encoder.source_
            columns = tuple(c for c in table.encoder.columns_ if c in source)
            outputs = table.target.outputs
            return described(fit.method.name, found, source, columns, outputs)
    return None


def described(
    name: str,
    found: FoundFeatures,
    source: tuple[str, ...],
    columns: tuple[str, ...],
    outputs: int = 1,
) -> FirstStep:
    """The set of method `name` by directions, their weights folded to the original columns."""
    leading = [found.leading(k) for k in range(found.n_directions)]
    shares = np.array([found.mass, found.low, found.high]) / outputs
    mass = [Interval(*(float(end) for end in shares[:, i])) for i in leading]
    folded = fold(found.directions[:, leading], source, columns)
    signed = np.array([source.count(column) == 1 for column in columns], dtype=bool)
    return FirstStep(
        method=name,
        columns=columns,
        folded=np.where(signed[:, None], folded, np.abs(folded)),
        signed=tuple(signed.tolist()),
        mass=tuple(mass),
        parts=tuple(_part(found, k) for k in range(found.n_directions)),
        p=found.p / outputs,
        width=found.width,
        unexplained=found.unexplained,
        short=found.short,
        rows=found.rows,
        outputs=outputs,
    )


def _part(found: FoundFeatures, k: int) -> Part:
    """Which neurons find direction k: those that fire on most rows, on few, or both."""
    signs = np.unique(found.signs[found.group == k]).tolist()
    return "both" if len(signs) == 2 else ("few" if signs == [1] else "most")
