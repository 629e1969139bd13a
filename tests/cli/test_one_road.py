"""A table in memory and the same table streamed: one reading, one split, one fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.tables import gradfeat, results
from gradfeat.table.encode import TableEncoder
from gradfeat.table.methods import METHODS
from gradfeat.table.read import read_table
from table.streamed_tables import mixed

STREAMING = [method.name for method in METHODS if not method.in_memory]

# In memory ridge takes singular values, from sums eigenvalues e of F^T F, whose rounding moves
# predictions by about eps max(e) / penalty: a condition of 1e6 at most where inputs are
# standardised, and of 1e9 after gradient steps, along which e grows. Kernels solve the same system.
ROUNDING = {"linear": 1e-9, "random-features": 1e-9, "kernel": 1e-9, "rfm": 1e-9}
AFTER_STEPS = 1e-6

OTHERS = ("random-features", "rfm")


pytestmark = pytest.mark.usefixtures("no_page")


def fitted(capsys, data: Path, out: Path, *words: object) -> pd.DataFrame:
    """Predictions of the model that is saved, for the rows of the table."""
    time = ("--time", "600")  # enough for every search to try all of its settings
    ran = gradfeat(capsys, "fit", data, "--target", "y", "--out", out, *time, *words)
    assert (ran.code, ran.err) == (0, "")
    ran = gradfeat(capsys, "predict", out / "model.gradfeat", data, "--out", out / "p.csv")
    assert (ran.code, ran.err) == (0, "")
    return pd.read_csv(out / "p.csv")


def table(folder: Path, *, classes: bool) -> Path:
    frame = mixed(200)
    if classes:
        frame["y"] = np.where(frame["a"] ** 2 + frame["b"].fillna(0) > 0.8, "yes", "no")
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


#: Classes are codes before any method sees them: one of each kind of method, the others slow.
EACH = [
    pytest.param(method, classes, marks=[pytest.mark.slow] * (classes and method in OTHERS))
    for method in STREAMING
    for classes in (False, True)
]


@pytest.mark.parametrize(("method", "classes"), EACH)
def test_in_memory_is_streamed(capsys, tmp_path, method, classes):
    data, words = table(tmp_path, classes=classes), ("--methods", method, "--width", "32")
    held = fitted(capsys, data, tmp_path / "held", "--no-stream", *words)
    streamed = fitted(capsys, data, tmp_path / "streamed", "--stream", *words)
    bound = ROUNDING.get(method, AFTER_STEPS)
    pd.testing.assert_frame_equal(streamed, held, rtol=bound, atol=bound)
    one, other = (results(tmp_path / name) for name in ("held", "streamed"))
    assert one["split"] == other["split"]
    assert one["columns"] == other["columns"]
    assert one["methods"][0]["settings"] == other["methods"][0]["settings"]


@pytest.mark.slow
@pytest.mark.parametrize("method", STREAMING)
def test_a_cluster_changes_nothing(capsys, tmp_path, method):
    data, words = table(tmp_path, classes=False), ("--methods", method, "--width", "32")
    held = fitted(capsys, data, tmp_path / "held", "--no-stream", *words)
    dask = fitted(capsys, data, tmp_path / "dask", "--dask", "local", "--jobs", "1", *words)
    bound = ROUNDING.get(method, AFTER_STEPS)
    pd.testing.assert_frame_equal(dask, held, rtol=bound, atol=bound)


CODES = np.array(["01", "02", "1A", "2B"])


@pytest.fixture
def codes(tmp_path) -> Path:
    """A table of codes with y = 0, 10, 20, 30, and one that holds two of them."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 4, 400)
    y = 10 * code + 0.01 * rng.standard_normal(400)
    frame = pd.DataFrame({"code": CODES[code], "z": rng.standard_normal(400), "y": y})
    frame.to_csv(tmp_path / "train.csv", index=False)
    return tmp_path


def later(folder: Path) -> list[tuple[Path, list[float]]]:
    """Tables to predict: two codes of four, one row alone, and a folder of files that differ."""
    (folder / "rows").mkdir()
    for name, text in (
        ("two.csv", "code,z\n01,0.1\n02,0.2\n"),
        ("one.csv", "code,z\n02,0.2\n"),
        ("rows/1.csv", "code,z\n01,0.1\n02,0.2\n"),
        ("rows/2.csv", "code,z\n1A,0.3\n"),
    ):
        (folder / name).write_text(text)
    return [
        (folder / "two.csv", [0, 10]),
        (folder / "one.csv", [10]),
        (folder / "rows", [0, 10, 20]),
    ]


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
def test_a_cell_is_read_the_same_whatever_stands_beside_it(capsys, codes, how):
    out = codes / "out"
    fitted(capsys, codes / "train.csv", out, how, "--methods", "linear")
    for data, expected in later(codes):
        ran = gradfeat(capsys, "predict", out / "model.gradfeat", data, "--out", codes / "p.csv")
        assert (ran.code, ran.err) == (0, "")
        assert "Taken as missing" not in ran.out
        # Noise of .01 in y, and what the penalty takes of a difference of 30.
        assert pd.read_csv(codes / "p.csv")["predicted_y"].tolist() == pytest.approx(
            expected, abs=0.1
        )


def test_a_cell_is_read_the_same_in_python(codes):
    train = read_table(codes / "train.csv")
    encoder = TableEncoder().fit(train[["code", "z"]])
    first = train.drop_duplicates("code").set_index("code")
    known = dict(zip(first.index, encoder.transform(first.reset_index()), strict=True))
    later(codes)
    for path, names in (("two.csv", ["01", "02"]), ("one.csv", ["02"]), ("rows", CODES[:3])):
        X = encoder.transform(read_table(codes / path, encoder.cells))
        assert X[:, :4].tolist() == [known[name][:4].tolist() for name in names]


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
def test_what_looks_like_numbers_in_the_first_rows_is_decided_by_all(
    capsys, tmp_path, monkeypatch, how
):
    monkeypatch.setattr("gradfeat.rows.sources.open.SAMPLE_ROWS", 50)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"hex": ["0x12", "0x13"] * 100, "late": ["1", "2"] * 95 + ["1A"] * 10})
    frame["y"] = rng.standard_normal(200)
    frame.to_csv(tmp_path / "t.csv", index=False)
    fitted(capsys, tmp_path / "t.csv", tmp_path / "out", how, "--methods", "linear")
    kinds = {note["name"]: note["kind"] for note in results(tmp_path / "out")["columns"]}
    assert kinds == {"hex": "yes/no", "late": "category"}


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
def test_json_lines_stream_too(capsys, tmp_path, how):
    mixed(300).to_json(tmp_path / "t.jsonl", orient="records", lines=True, date_format="iso")
    ran = fitted(capsys, tmp_path / "t.jsonl", tmp_path / "out", how, "--methods", "linear")
    assert len(ran) == 300
