"""Encoded rows of a table: the training rows, encoded as in memory, whatever the pieces."""

from __future__ import annotations

import pickle
from typing import cast

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.errors import SourceError
from gradfeat.maths.blocks import Block
from gradfeat.maths.limits import Deadline
from gradfeat.rows.in_process import InProcess, Threads
from gradfeat.rows.rows import Rows
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.fitting import MethodTime, situation
from gradfeat.table.methods import MethodInput, chosen_methods
from gradfeat.table.prepared import EncodedRows, Prepared, prepare
from gradfeat.table.request import Request
from gradfeat.table.scores import Predictions, replicates, resampled, resamples
from table.streamed_tables import mixed, parted

# Ridge on at most 64 features of some hundred rows: rounding times a condition of about 1e4.
ROUNDING = 1e-9


def source_of(frame: pd.DataFrame, piece_rows: int = 50, **options):
    found = parted(frame, piece_rows, **options)
    assert found.rows is not None
    return cast(EncodedRows, found.rows.source), found


def blocks(source: EncodedRows) -> list[Block]:
    return [block for piece in source.pieces() for block in piece.read()]


def made(found: Prepared, width: int) -> MethodInput:
    time_ = MethodTime(Deadline.after(5.0), 5.0)
    return situation(found, Request("t", "y", width=width), time_, found.n_train, found.y_train)


def in_order(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    table = np.column_stack([X, y])
    return table[np.lexsort(table.T)]


def test_the_pieces_hold_the_training_rows_as_they_are_encoded_in_memory():
    frame = mixed()
    frame.loc[::10, "y"] = None
    source, found = source_of(frame)
    held = blocks(source)
    X, y = (torch.cat([getattr(b, name) for b in held]).numpy() for name in ("X", "y"))
    assert len(X) == found.n_train
    assert (in_order(X, y) == in_order(found.train, found.y_train)).all()
    assert not set(map(tuple, X)) & set(map(tuple, found.test))


def test_levels_that_the_sample_lacks_and_gaps_are_encoded_as_in_memory():
    source, found = source_of(mixed())
    frame = mixed(40, seed=5).assign(kind="unseen", name=None, flag=None, whole=None)
    block = source.coding.training(frame, "here")
    assert len(block.X) > 20
    assert found.encoder.transform(frame).tolist()[0] in block.X.tolist()


@pytest.mark.slow
def test_a_source_is_read_by_other_processes():
    source, _ = source_of(mixed())
    copy = pickle.loads(pickle.dumps(source))
    assert copy.fingerprint == source.fingerprint
    for one, other in zip(blocks(copy), blocks(source), strict=True):
        assert torch.equal(one.X, other.X)
        assert torch.equal(one.y, other.y)


def test_the_fingerprint_follows_target_seed_and_rows():
    prints = {
        source_of(frame, seed=seed)[0].fingerprint
        for frame, seed in ((mixed(), 0), (mixed(), 1), (mixed(399), 0), (mixed(), 0))
    }
    assert len(prints) == 3


def test_rows_that_cannot_be_encoded_name_the_piece():
    source, _ = source_of(mixed())
    odd = mixed(40).drop(columns="a")
    with pytest.raises(SourceError, match="part 7: the table lacks 'a'"):
        source.coding.training(odd, "part 7")


@pytest.mark.parametrize("name", ["linear", "random-features"])
@pytest.mark.parametrize("classes", [False, True])
def test_a_fit_in_passes_is_the_fit_in_memory(name, classes):
    frame = mixed()
    if classes:
        frame["y"] = np.where(frame["a"] > 0.5, "yes", "no")
    source, found = source_of(frame)
    (method,) = chosen_methods((name,))
    made_for = made(found, 64)
    passed = method.make(made_for).fit(Rows(source).on(Threads(2)))
    held = method.make(made_for).fit(found.train, found.y_train)
    if classes:
        one, other = (m.decision_function(found.test) for m in (passed, held))
    else:
        one, other = (m.predict(found.test) for m in (passed, held))
    np.testing.assert_allclose(one, other, atol=ROUNDING * np.abs(other).max())


def test_threads_and_pieces_give_the_same_fit():
    frame = mixed()
    (method,) = chosen_methods(("random-features",))
    said = []
    for piece_rows, engine in ((50, InProcess()), (50, Threads(3)), (400, InProcess())):
        source, found = source_of(frame, piece_rows)
        model = method.make(made(found, 32))
        said.append(model.fit(Rows(source).on(engine)).predict(found.test))
    np.testing.assert_allclose(said[0], said[1], atol=ROUNDING)
    np.testing.assert_allclose(said[0], said[2], atol=ROUNDING)


def test_resamples_drawn_a_few_at_a_time_are_the_same(monkeypatch):
    y = np.arange(30.0)
    said = Predictions(y + np.sin(y), None)
    monkeypatch.setattr("gradfeat.table.scores.HELD_NUMBERS", 30 * 7)
    for units in (np.arange(30), np.arange(30) // 2):
        found = resampled(y, said, units, 3)
        expected = replicates(y, said, units, resamples(units, 3))
        assert found.keys() == expected.keys()
        for name, drawn in expected.items():
            assert found[name].value == drawn.value
            # sums of 30 terms
            np.testing.assert_allclose(found[name].draws, drawn.draws, rtol=1e-13)
            np.testing.assert_allclose(found[name].errors, drawn.errors, rtol=1e-11)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_test_rows_of_a_table_of_copies_do_not_have_the_targets_of_the_training_rows(task):
    """A coin for each of 8,000 rows of 512 contents: a table of their means tells nothing."""
    right = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 2, (8_000, 9)), rng.integers(0, 2, 8_000)
        frame = pd.DataFrame(X, columns=[f"b{i}" for i in range(9)]).assign(y=y)
        found = prepare(FrameTables(frame, 8_000), Request("t", "y", task=task))
        assert (len(found.train), len(found.test)) == (6_000, 2_000)
        cell, other = (Z @ 2.0 ** np.arange(9) for Z in (found.train, found.test))
        means = pd.Series(found.y_train).groupby(cell).mean()
        right.append(float(np.mean((means[other].to_numpy() > 0.5) == (found.y_test > 0.5))))
    assert 0.47 < np.mean(right) < 0.53  # .59 where each content is divided alike


def test_rows_of_a_class_are_on_both_sides_where_all_are_copies():
    frame = pd.DataFrame({"x": [1] * 30 + [2] * 2, "y": ["a"] * 30 + ["b"] * 2})
    found = prepare(FrameTables(frame, 32), Request("t", "y"))
    assert [*np.bincount(found.y_test)] == [8, 1]
    assert [*np.bincount(found.y_train)] == [22, 1]
