"""The same rows from every kind of source, and paths opened by what is in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.errors import SourceError
from gradfeat.rows.sources.open import (
    from_arrays,
    from_csv,
    from_dask,
    from_frames,
    from_iterator,
    from_npy,
    from_parquet,
    tables,
)
from gradfeat.rows.sources.parquet import ParquetTables
from gradfeat.rows.sources.text import TextTables

ROWS = 1000
INPUTS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(2)
    return pd.DataFrame(generator.standard_normal((ROWS, 4)), columns=[*INPUTS, "y"])


def whole(rows):
    read = [block for piece in rows.source.pieces() for block in piece.read()]
    return [torch.cat(parts) for parts in zip(*((b.X, b.y, b.w) for b in read), strict=True)]


def assert_same(rows, frame):
    X, y, w = whole(rows)
    np.testing.assert_array_equal(X, frame[INPUTS])
    np.testing.assert_array_equal(y, frame[["y"]])
    np.testing.assert_array_equal(w, np.ones(ROWS))


@pytest.mark.parametrize("pieces", [1, 7, pytest.param(1000, marks=pytest.mark.slow)])
def test_files_and_memory_give_the_same_rows_in_any_number_of_pieces(tmp_path, frame, pieces):
    rows = -(-ROWS // pieces)
    X, y = frame[INPUTS].to_numpy(), frame["y"].to_numpy()
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=rows)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv.gz", index=False, sep="\t")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    opened = [
        from_arrays(X, y, piece_rows=rows),
        from_parquet(tmp_path / "a.parquet", "y", piece_rows=rows),
        from_csv(tmp_path / "a.csv", "y", piece_rows=rows),
    ]
    more = [
        from_csv(tmp_path / "a.tsv.gz", "y", piece_rows=rows),
        from_npy(tmp_path / "X.npy", tmp_path / "y.npy", piece_rows=rows),
        from_frames(frame, "y", piece_rows=rows),
        from_iterator(lambda: ((X[i : i + rows], y[i : i + rows]) for i in range(0, ROWS, rows))),
        from_iterator(lambda: (frame[i : i + rows] for i in range(0, ROWS, rows)), target="y"),
    ]
    for one in opened if pieces == 1000 else [*opened, *more]:
        assert sum(1 for _ in one.source.pieces()) == pieces
        assert one.source.count in (pieces, None)
        assert_same(one, frame)
        if pieces == 7:
            assert_same(one, frame)  # a second pass


def test_dask_collections_give_the_same_rows(frame):
    dd = pytest.importorskip("dask.dataframe")
    collection = dd.from_pandas(frame, npartitions=7)
    assert_same(from_dask(collection, target="y"), frame)
    assert_same(from_dask(collection[INPUTS].values, collection.y.values), frame)
    with pytest.raises(SourceError, match="needs one of the two"):
        from_dask(collection, collection.y.values, target="y")
    with pytest.raises(SourceError, match="needs one of the two"):
        from_dask(collection)


def test_a_piece_read_again_gives_the_same_block(tmp_path, frame):
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=300)
    for piece in from_parquet(tmp_path, "y", piece_rows=250).source.pieces():
        for one, other in zip(piece.read(), piece.read(), strict=True):
            assert torch.equal(one.X, other.X)
            assert torch.equal(one.y, other.y)


def test_paths_are_opened_by_what_they_begin_with(tmp_path, frame):
    frame.to_parquet(tmp_path / "table")
    frame.to_csv(tmp_path / "text.txt", index=False, sep="|")
    (tmp_path / "folder").mkdir()
    frame.to_parquet(tmp_path / "folder" / "a.parquet")
    assert type(tables(tmp_path / "table")) is ParquetTables
    assert type(tables(tmp_path / "folder")) is ParquetTables
    text = tables(tmp_path / "text.txt", columns=["b"], piece_rows=10)
    assert type(text) is TextTables
    assert (text.names, text.count) == (("b",), 100)


def test_files_that_are_no_tables_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.ones(3))
    (tmp_path / "a.parquet").write_text("x,y\n1,2\n")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    with pytest.raises(SourceError, match=r"X\.npy' is a \.npy file: give it to from_npy"):
        tables(tmp_path / "X.npy")
    with pytest.raises(SourceError, match=r"a\.parquet' is not a Parquet file"):
        tables(tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"a\.png' is not "):
        tables(tmp_path / "a.png")
    with pytest.raises(SourceError, match="no file or folder"):
        tables(tmp_path / "nothing.csv")


@pytest.mark.parametrize("given", ["data:,a", "data:a"])
def test_an_address_of_another_form_is_refused(given):
    with pytest.raises(SourceError, match="is no address: give a file, a folder or a URL"):
        tables(given)
