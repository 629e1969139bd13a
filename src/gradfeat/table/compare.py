"""Fit every method on the same training rows, score them on the same test rows.

In steps: prepare (read, hold out, encode), fit and score each method, say what the best of them
reads, remark on what is odd, and put all of it into a report of plain values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradfeat.errors import TableError
from gradfeat.maths.limits import quickest_threads
from gradfeat.maths.ranges import usable_device
from gradfeat.rows.engine import Engine
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.fitting import Fitted, MethodTime, fit_method
from gradfeat.table.interpret import column_losses, directions, first_step
from gradfeat.table.methods import Method, chosen_methods
from gradfeat.table.prepared import Prepared, prepare
from gradfeat.table.request import Request, Steps
from gradfeat.table.results import (
    ColumnGroup,
    Directions,
    FitReport,
    Importances,
    Remark,
    Streaming,
    package_versions,
)
from gradfeat.table.scores import about_few, held_scores, worth
from gradfeat.table.screening import about_groups
from gradfeat.table.shuffling import correlated_groups
from gradfeat.table.split import number_of
from gradfeat.table.table_model import TableModel
from gradfeat.table.unread import unread_sentence
from gradfeat.table.verdict import about_classes, beyond_chance, verdict
from gradfeat.wording import partly

#: Of the time of a comparison, for what the model loses where columns are shuffled.
SHUFFLING_SHARE = 0.1
#: Numbers of the training rows up to which every method is fitted, whatever time is left.
SMALL = 50_000


@dataclass(frozen=True, eq=False)
class Compared:
    """The report, and two fitted models: of the best method, and of the best that learns features.

    `learner` is None where no method learned features.
    """

    report: FitReport
    best: TableModel
    learner: TableModel | None


@dataclass(frozen=True)
class Leaders:
    """The best of all that were fitted, of those that learn features, and the one that is read.

    Where no method learned features, `reads` is the best of gradfeat's own.
    """

    best: Fitted
    learner: Fitted | None
    reads: Fitted | None


def compare(
    table: Tables, request: Request, steps: Steps, engine: Engine | None = None, computes: str = ""
) -> Compared:
    """Hold out test rows, fit and score every method, say what the best of them reads.

    Rows stream where there is an `engine`, made with ``report=steps``: methods that cannot stream
    are then fitted to a sample. `computes` says what it is: ``2 threads``.
    """
    if request.device is not None:
        usable_device(request.device)
    methods = chosen_methods(request.methods)
    steps.begin("Preparing", 0.0)
    request = request.spelt(table.names)
    prepared = prepare(table, request, engine)
    fits: list[Fitted] = []
    with quickest_threads():
        for method, time_ in in_turn(methods, prepared, request, steps):
            fits.append(fit_method(method, prepared, request, time_))
    steps.begin("Summary", 1.0)
    found = leaders(fits)
    streaming = None
    if engine is not None:
        streaming = Streaming(
            table.count or 0, computes, len(prepared.train), tuple(steps.finished())
        )
    report = fit_report(prepared, fits, found, request, steps, streaming)
    best = table_model(found.best, prepared, request, report.importances)
    if found.learner is None or found.learner is found.best:
        return Compared(report, best, None if found.learner is None else best)
    return Compared(report, best, table_model(found.learner, prepared, request))


def _fitted_to(fit: Fitted) -> str:
    """Of a method: the rows, where they are not all, and that its trees are left out."""
    rows = partly(fit.result.rows_used, fit.result.rows_there, " (fitted to {})")
    return rows + ("" if fit.judged is fit.draws else " without its boosted trees")


def in_turn(
    methods: Sequence[Method], table: Prepared, request: Request, steps: Steps
) -> Iterator[tuple[Method, MethodTime | None]]:
    """Each method with its share of the time that is left when it begins; None: there is none.

    What is left of the time asked, without a reserve for the page; one that takes less leaves more
    to those that follow. A method for which nothing is left has its least fit, of one trial; on
    tables where that takes long too, only until all of the time is over.
    """
    total, begun = sum(m.share for m in methods), 0.0
    until = steps.page_begins(request.seconds, table.train.shape[1])
    until = until.before(SHUFFLING_SHARE * request.seconds)
    passed = steps.finished()[:1]
    for method in methods:
        steps.begin(method.label, begun / total)
        if begun and steps.deadline.passed and table.train.size > SMALL:
            yield method, None
            continue
        share = until.part(method.share / (total - begun))
        asked = request.seconds * method.share / total
        yield method, MethodTime(share, asked, sum(p.seconds for p in passed), steps.tell)
        begun += method.share


def leaders(fits: Sequence[Fitted]) -> Leaders:
    """Those of all that were fitted; an error where none was."""
    fitted = [f for f in fits if f.predictions is not None]
    if not fitted:
        reasons = "; ".join(f"{f.result.label}: {f.result.error}" for f in fits)
        raise TableError(f"No method could be fitted ({reasons}).")

    def merits(fit: Fitted) -> tuple[float, ...]:
        return worth(fit.draws)

    own = [f for f in fitted if f.result.family != "reference"]
    learned = [f for f in own if f.result.family == "learned"]
    return Leaders(
        max(fitted, key=merits),
        max(learned, key=merits, default=None),
        max(learned or own, key=merits, default=None),
    )


def fit_report(
    table: Prepared,
    fits: Sequence[Fitted],
    found: Leaders,
    request: Request,
    steps: Steps,
    streaming: Streaming | None,
) -> FitReport:
    """All that is shown of a comparison, as plain values."""
    fitted = [f for f in fits if f.predictions is not None]
    judged = {f.method.name: f.judged for f in fitted}
    said = {f.method.name: _fitted_to(f) for f in fitted}
    encoder = table.encoder
    groups = correlated_groups(table.train, encoder.source_, encoder.feature_names_)
    read = None if found.reads is None else _read(found.reads, table, groups, request.seed)
    left = steps.page_begins(request.seconds, table.train.shape[1]).left
    shuffling = min(SHUFFLING_SHARE * request.seconds, left)
    beyond = beyond_chance(table.y_test, found.best.result.scores)
    units = number_of(table.units)
    return FitReport(
        data=request.data,
        target=request.target,
        task=table.target.task,
        classes=table.target.classes,
        n_rows=table.n_rows,
        n_train=table.n_train,
        n_test=len(table.test),
        split=table.split,
        columns=table.columns,
        methods=tuple(f.result for f in fits),
        verdict=verdict([f.result for f in fitted], judged, units, said, beyond=beyond),
        directions=read,
        importances=column_losses(found.best, table, groups, read, shuffling, request.seed),
        groups=groups,
        remarks=_remarks(table, fits, groups, request),
        best=found.best.method.name,
        y_true=table.y_test,
        y_pred=_values(found.best, table),
        seed=request.seed,
        versions=package_versions(),
        command=request.command,
        seconds=steps.seconds,
        first_step=first_step(fitted, table),
        streaming=streaming,
        unread=table.unread,
    )


def _values(fit: Fitted, table: Prepared) -> NDArray[Any]:
    values = np.zeros(0) if fit.predictions is None else fit.predictions.values
    return values.astype(int) if table.target.classes else values


def _read(
    leader: Fitted, table: Prepared, groups: Sequence[ColumnGroup], seed: int
) -> Directions | None:
    e = table.encoder
    return directions(
        leader.method.name,
        leader.estimator,
        table.test,
        e.feature_names_,
        e.source_,
        tuple(c for c in e.columns_ if c in e.source_),
        seed,
        frozenset(note.name for note in e.notes_ if note.kind == "category"),
        groups,
    )


def _remarks(
    table: Prepared, fits: Sequence[Fitted], groups: Sequence[ColumnGroup], request: Request
) -> tuple[Remark, ...]:
    """On the data before the verdict, what may undo it first; on the fits at the page's end."""
    first = [
        *table.remarks,
        *about_few(table.units),
        _open_question(fits),
        unread_sentence(table.unread) if table.unread else "",
        *table.encoder.remarks,
        *about_groups(groups),
        table.target.scale.in_words(request.target),
        table.target.remark,
    ]
    rows = "the training rows" if table.rows is None else "a sample of the training rows"
    page = [*_fitted_to_fewer(fits, table.n_train), *_first_gradient(fits, rows)]
    remarks = (*map(Remark, filter(None, first)), *(Remark(words, "page") for words in page))
    return (*remarks, *(Remark(words, "last") for words in _unlearned(fits)))


def _fitted_to_fewer(fits: Sequence[Fitted], n: int) -> list[str]:
    needs, short = "which it needs in memory: a random sample", "to keep to the time asked for"
    return [
        f"{fit.result.label} was fitted on {fit.result.rows_used:,} of the {n:,} training rows, "
        f"{needs if fit.result.sampled and fit.method.in_memory else short}."
        for fit in fits
        if fit.result.rows_used < n and not fit.result.error
    ]


def _open_question(fits: Sequence[Fitted]) -> str:
    """That nothing is said of learned features, where that was asked and no method was fitted."""
    asked = {fit.method.family for fit in fits}
    there = {fit.method.family for fit in fits if not fit.result.error}
    kinds = [kind for kind in ("learned", "fixed") if kind in asked - there]
    if not kinds or not asked >= {"learned", "fixed"}:
        return ""
    return (
        f"Whether learning features helps stays open: no method with {kinds[0]} features could be "
        "fitted."
    )


def _unlearned(fits: Sequence[Fitted]) -> list[str]:
    """Methods that learn features, and learned none here."""
    return [
        f"{fit.result.label} learned no features here, as no update of its metric did better on "
        "validation rows: it counts among the methods with fixed features."
        for fit in fits
        if fit.result.family == "fixed" != fit.method.family
    ]


def _first_gradient(fits: Sequence[Fitted], rows: str) -> list[str]:
    """Is the first gradient step beyond chance? In a sentence, where it was tested."""
    fitted = [fit for fit in fits if fit.estimator is not None]
    tests = [fit.method.first_gradient(fit.estimator) for fit in fitted]
    return [
        f"The first gradient step is {'informative' if test.informative else 'not informative'} "
        f"here: permutation p-values {test.linear_p:.2g} for its linear part and "
        f"{test.gradient_p:.2g} for what lies beyond it, over {rows}."
        for test in tests
        if test is not None
    ]


def table_model(
    kept: Fitted, table: Prepared, request: Request, needed: Importances | None = None
) -> TableModel:
    """A fitted method with the encoding of its table, and what it `needed` of the columns."""
    about = {
        "method": kept.method.label,
        "data": request.data,
        "task": table.target.task,
        "train_rows": kept.result.rows_used,
        "test_rows": len(table.test),
        "scores": [[n, s.estimate, s.low, s.high] for n, s in kept.result.scores.items()],
        "settings": kept.result.settings,
        "seed": request.seed,
        "command": request.command,
        "version": package_versions()["gradfeat"],
        "importances": None if needed is None else asdict(needed),
        "text": asdict(replace(table.text, target=request.target)),
    }
    model, classes = kept.method.model(kept.estimator), table.target.classes
    held, scale = np.zeros(0), table.target.scale
    if kept.predictions is not None:
        about["classes"] = about_classes(table.y_test, kept.predictions.values, classes)
        held = held_scores(table.y_test, kept.predictions, scale)
    rest = classes, about, held, scale, table.target.labels
    return TableModel.of(table.encoder, model, request.target, *rest)
