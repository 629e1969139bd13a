"""Arrays, ``.npy`` files, data frames and iterators as sources."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.errors import SourceError
from gradfeat.rows.sources.npy import NpyRows
from gradfeat.rows.sources.table_rows import IteratorRows, IteratorTables
from gradfeat.rows.sources.tables import ArrayRows, FrameTables

X = np.arange(10.0).reshape(5, 2)
Y = np.arange(5.0)
W = np.ones(5)


def blocks(source):
    return [block for piece in source.pieces() for block in piece.read()]


def npy(folder, **arrays):
    paths = []
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        paths.append(folder / f"{name}.npy")
    return paths


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor, lambda a: np.asarray(a, "f4")])
def test_arrays_are_cut_in_slices(kind):
    source = ArrayRows(kind(X), kind(Y), kind(W), piece_rows=2)
    assert [len(block.X) for block in blocks(source)] == [2, 2, 1]
    assert (source.count, source.parallel) == (3, False)
    for _ in range(2):
        np.testing.assert_array_equal(torch.cat([block.X for block in blocks(source)]), X)
        np.testing.assert_array_equal(torch.cat([block.y for block in blocks(source)])[:, 0], Y)
    assert blocks(source)[0].w.dtype == torch.float64
    assert [piece.name for piece in source.pieces()][1] == "rows 2 to 3"


def test_columns_of_arrays_are_numbered():
    assert ArrayRows(X, X).columns.inputs == ("x0", "x1")
    assert ArrayRows(X, X).columns.targets == ("y0", "y1")
    assert ArrayRows(X, Y).columns.targets == ("y",)


def test_the_fingerprint_of_arrays_is_of_their_contents():
    same = ArrayRows(X.copy(), torch.as_tensor(Y)).fingerprint
    other = X.copy()
    other[4, 1] += 1e-9
    assert ArrayRows(X, Y).fingerprint == same
    assert ArrayRows(other, Y).fingerprint != same
    assert ArrayRows(X, Y, piece_rows=2).fingerprint != same


def test_blocks_do_not_share_memory_that_a_caller_cannot_write():
    X.flags.writeable = False
    try:
        assert len(blocks(ArrayRows(X, Y))) == 1
    finally:
        X.flags.writeable = True


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ((Y, Y), r"X has shape \(5,\)"),
        ((X[:, :0], Y), r"X has shape \(5, 0\)"),
        ((X, Y.reshape(5, 1, 1)), r"y has shape \(5, 1, 1\)"),
        ((X, Y[:4]), "X has 5 rows and y has 4"),
        ((X, Y, W[:3]), "X has 5 rows and w has 3"),
        ((X, Y, X), r"w has shape \(5, 2\)"),
        ((X[:0], Y[:0]), "has no rows"),
        ((X.astype(str), Y), "is of type <U"),
        ((X.astype(complex), Y), "is of type complex128"),
        ((X, Y.astype("M8[D]")), "is of type datetime64"),
    ],
)
def test_shapes_and_types_that_do_not_go_together_are_refused(tmp_path, arrays, sentence):
    with pytest.raises(SourceError, match=sentence):
        ArrayRows(*arrays)
    paths = npy(tmp_path, **dict(zip("Xyw", arrays, strict=False)))
    with pytest.raises(SourceError, match=sentence):
        NpyRows(*paths)


def test_frames_and_lists_of_numbers_are_arrays():
    """There was an AttributeError of pandas."""
    same = ArrayRows(X, Y).fingerprint
    assert ArrayRows(pd.DataFrame(X), pd.Series(Y)).fingerprint == same
    assert ArrayRows(X.tolist(), Y.tolist()).fingerprint == same
    with pytest.raises(SourceError, match="X is of type object: give real numbers"):
        ArrayRows(pd.DataFrame({"a": ["x"] * len(Y)}), Y)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_missing_or_infinite_are_refused_naming_the_rows(tmp_path, place, bad):
    arrays = [X.copy(), Y.copy(), W.copy()]
    arrays[place][3] = bad
    name = "Xyw"[place]
    for source in (
        ArrayRows(*arrays, piece_rows=2),
        NpyRows(*npy(tmp_path, X=arrays[0], y=arrays[1], w=arrays[2]), piece_rows=2),
        IteratorRows(lambda: iter([tuple(arrays)])),
    ):
        with pytest.raises(SourceError, match=rf"(rows 2 to 3|item 0): {name} has \d value"):
            blocks(source)


def test_weights_must_not_be_negative():
    with pytest.raises(SourceError, match="rows 0 to 4: w has negative weights"):
        blocks(ArrayRows(X, Y, -W))


def test_a_sum_that_overflows_is_not_taken_for_an_infinite_value():
    assert len(blocks(ArrayRows(np.full((2, 1), 1.7e308), np.ones(2)))) == 1


def test_npy_files_are_read_by_range_and_survive_pickling(tmp_path):
    source = NpyRows(*npy(tmp_path, X=X.astype("f4"), y=Y.astype(int), w=W), piece_rows=2)
    assert (source.count, source.parallel) == (3, True)
    sent = [pickle.dumps(piece) for piece in pickle.loads(pickle.dumps(source)).pieces()]
    assert max(map(len, sent)) < 2000
    read = [block for data in sent for block in pickle.loads(data).read()]
    np.testing.assert_array_equal(torch.cat([block.X for block in read]), X)
    np.testing.assert_array_equal(torch.cat([block.y for block in read])[:, 0], Y)
    assert read[0].X.dtype == torch.float64


def test_npy_files_that_are_not_whole_or_have_changed_are_refused(tmp_path):
    X_path, y_path = npy(tmp_path, X=X, y=Y)
    source = NpyRows(X_path, y_path)
    np.save(X_path, X[:4])
    with pytest.raises(SourceError, match=r"X\.npy' has changed"):
        blocks(source)
    whole = X_path.read_bytes()
    for content in (whole[:-8], b"text", b"\x93NUMPY"):
        X_path.write_bytes(content)
        with pytest.raises(SourceError, match=r"X\.npy' is not a whole \.npy file"):
            NpyRows(X_path, y_path)
    np.save(X_path, np.array([[None]]), allow_pickle=True)
    with pytest.raises(SourceError, match=r"X\.npy' is not a whole \.npy file of numbers"):
        NpyRows(X_path, y_path)
    with pytest.raises(SourceError, match=r"no file or folder '.*Z\.npy'; did you mean"):
        NpyRows(tmp_path / "Z.npy", y_path)


def test_frames_are_cut_in_slices_and_checked():
    frame = pd.DataFrame({"a": range(5), "b": list("vwxyz")})
    table = FrameTables([frame, frame.iloc[:0], frame[["b", "a"]]], piece_rows=3)
    assert (table.rows, table.count, table.names) == (10, 4, ("a", "b"))
    read = [chunk for piece in table.pieces() for chunk in piece.read()]
    assert [len(chunk) for chunk in read] == [3, 2, 3, 2]
    assert all(list(chunk) == ["a", "b"] for chunk in read)
    assert table.select(["b"]).names == ("b",)
    assert FrameTables(frame).fingerprint == FrameTables(frame.copy()).fingerprint
    assert FrameTables(frame).fingerprint != FrameTables(frame.replace("z", "Z")).fingerprint
    with pytest.raises(SourceError, match="data frame 1 has no column 'b'"):
        FrameTables([frame, frame[["a"]]])
    with pytest.raises(SourceError, match="have no rows"):
        FrameTables([])
    with pytest.raises(SourceError, match="more than one column named 'a'"):
        FrameTables(frame[["a", "a"]])


def test_an_iterator_is_made_anew_each_pass():
    made = []

    def batches():
        made.append(1)
        return ((X[i : i + 2], Y[i : i + 2], W[i : i + 2]) for i in (0, 2))

    source = IteratorRows(batches)
    assert (source.count, source.parallel) == (None, False)
    first, second = blocks(source), blocks(source)
    assert len(made) == 3  # one to look at the columns
    assert [b.X.tolist() for b in first] == [b.X.tolist() for b in second]
    assert source.fingerprint == source.fingerprint != IteratorRows(batches).fingerprint
    assert IteratorRows(batches, fingerprint="v1").fingerprint.startswith("iterator v1")


def test_an_iterator_that_is_used_up_is_refused():
    pair = (X, Y)
    with pytest.raises(SourceError, match="the rows are a generator, which can be read only once"):
        IteratorRows(p for p in [pair])  # pyright: ignore[reportArgumentType]
    once = iter([pair, pair])
    source = IteratorRows(lambda: once)
    with pytest.raises(SourceError, match="the same iterator again, which is used up"):
        blocks(source)
    with pytest.raises(SourceError, match="gave no items"):
        IteratorRows(lambda: iter([]))
    inner = iter([pair, pair, pair])
    wrapped = IteratorRows(lambda: (item for item in inner))
    assert len(blocks(wrapped)) == 2
    with pytest.raises(SourceError, match="0 items where the pass before gave 2"):
        blocks(wrapped)


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        ((X,), "item 1 of the iterator is a tuple"),
        (pd.DataFrame(X), "item 1 of the iterator is a DataFrame"),
        ((X[:, :1], Y), "item 1 has 1 inputs"),
        ((X, X), "item 1 has 2 inputs and y of shape"),
        ((X, Y[:3]), "X has 5 rows and y has 3"),
    ],
)
def test_items_unlike_the_first_are_refused(item, sentence):
    source = IteratorRows(lambda: iter([(X, Y), item]))
    with pytest.raises(SourceError, match=sentence):
        blocks(source)


def test_one_target_is_not_taken_for_two():
    source = IteratorRows(lambda: iter([(X, X), (X, Y)]))
    with pytest.raises(SourceError, match=r"item 1 has 2 inputs and y of shape \(5,\) where"):
        blocks(source)
    for y in ((Y, Y[:, None]), (Y[:, None], Y)):  # one target, in either shape
        read = blocks(IteratorRows(lambda y=y: iter([(X, y[0]), (X, y[1])])))
        assert [tuple(block.y.shape) for block in read] == [(5, 1), (5, 1)]


def test_frames_of_an_iterator_need_the_columns_of_the_first():
    frame = pd.DataFrame({"a": [1], "b": [2]})
    table = IteratorTables(lambda: iter([frame, frame[["b", "a"]]])).select(["b", "a"])
    read = [chunk for piece in table.pieces() for chunk in piece.read()]
    assert [list(chunk) for chunk in read] == [["b", "a"]] * 2
    with pytest.raises(SourceError, match="data frame 1 of the iterator has no column 'b'"):
        list(IteratorTables(lambda: iter([frame, frame[["a"]]])).pieces())
    with pytest.raises(SourceError, match="item 0 of the iterator is a tuple"):
        IteratorTables(lambda: iter([(X, Y)]))  # pyright: ignore[reportArgumentType]
