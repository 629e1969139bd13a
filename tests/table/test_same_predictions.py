"""A row is predicted as it is, whatever rows and files it comes with, of cells of all kinds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from gradfeat.interface.compare import compare
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import held
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.encode import TableEncoder
from gradfeat.table.predict import Predictor
from gradfeat.table.table_model import TableModel

N = 90
DRAWN = np.random.default_rng(5)
V, U = DRAWN.standard_normal(N), DRAWN.uniform(0.01, 90_000, N)
K, DAY = DRAWN.integers(0, 4, N), DRAWN.integers(0, 3_000, N)
TIMES = pd.Timestamp("2012-03-05") + pd.to_timedelta(DAY * 86_400 + K * 5_000, unit="s")


def gaps(cells: list[str], *others: str) -> list[str]:
    """Every eleventh cell is another one."""
    return [others[k // 11 % len(others)] if k % 11 == 5 else cell for k, cell in enumerate(cells)]


#: Cells by what they are.
COLUMNS: dict[str, list[str]] = {
    "numbers": [f"{v:.4f}" for v in V],
    "numbers with gaps": gaps([f"{v:.4f}" for v in V], "", "NA"),
    "numbers with strays": gaps([f"{v:.4f}" for v in V], "?", "n/a", ""),
    "whole numbers": [str(k) for k in DAY],
    "few whole numbers": [str(k) for k in K],
    "thousands": [f"{u:,.2f}" for u in U],
    "decimal comma": [f"{v:.3f}".replace(".", ",") for v in V],
    "currency": [f"${u:,.2f}" for u in U],
    "per cent": [f"{v:.1f}%" for v in V],
    "codes": [["01", "02", "1A", "2B"][k] for k in K],
    "padded codes": [["01", "02", "10", "11"][k] for k in K],
    "postcodes": [f"{k * 29 % 99_999:05}" for k in DAY],
    "hexadecimal": [["0x12", "0x13", "0x20", "0xff"][k] for k in K],
    "truth values": [["True", "False"][k % 2] for k in K],
    "yes and no": gaps([["yes", "no"][k % 2] for k in K], ""),
    "levels": gaps([["red", "green", "blue, dark", 'a "b"'][k] for k in K], "None", ""),
    "many levels": [f"state {k % 23}" for k in DAY],
    "texts": [f"{a} of {b}" for a, b in zip(DAY, DAY[::-1] % 13, strict=True)],
    "dates": [t.strftime("%Y-%m-%d") for t in TIMES],
    "days first": [t.strftime("%d.%m.%Y") for t in TIMES],
    "months first": [t.strftime("%m/%d/%Y") for t in TIMES],
    "names of months": gaps([t.strftime("%d-%b-%Y") for t in TIMES], ""),
    "far dates": gaps([t.strftime("%Y-%m-%d") for t in TIMES], "9999-12-31", "1600-01-01"),
    "moments": [t.strftime("%Y-%m-%d %H:%M:%S") for t in TIMES],
    "clock times": [t.strftime("%H:%M") for t in TIMES],
    "nothing": [""] * N,
    "signs of Unicode": [f"{v:+.2f}".replace("-", "−") for v in V],
    "narrow blanks": [f"{u:,.0f}".replace(",", "\u202f") for u in U],
    "magnitudes": [f"{u / 1000:.1f}K" if u < 5e4 else f"{u / 1e6:.3f}M" for u in U],
    "two measures": [f"{u:.0f} g" if u < 1000 else f"{u / 1000:.2f} kg" for u in U],
    "feet": [f"{4 + k}'{d % 12}\"" for k, d in zip(K, DAY, strict=True)],
    "fractions": [f"{d % 9} {1 + 2 * (k % 2)}/4" for k, d in zip(K, DAY, strict=True)],
    "limits": ["<5" if d < 300 else str(d) for d in DAY],
    "places": [f"{k + 4}th" for k in DAY % 9],
    "ranges": [f"{5 * k}-{5 * k + 4}" if k < 11 else "55+" for k in DAY % 12],
    "numbers among words": [f"{100 + d % 60}/{60 + 5 * k}" for k, d in zip(K, DAY, strict=True)],
    "sizes": [f"{d % 90}x{k + 1}x5 cm" for k, d in zip(K, DAY, strict=True)],
    "places on a map": [f"{v:.4f}, {w:.4f}" for v, w in zip(V, V[::-1], strict=True)],
    "versions": [f"{k}.{d % 24}" for k, d in zip(K, DAY, strict=True)],
    "powers": [f"{10 + d % 80}E{k}" for k, d in zip(K, DAY, strict=True)],
    "ja und nein": gaps([["ja", "nein"][k % 2] for k in K], "?", "NULL"),
    "a cross": ["x" if k == 1 else "" for k in K],
    "notes": gaps([f"{d}" for d in DAY], "12*", "7 (est.)"),
    "years among dates": [t.strftime("%Y" if t.day < 9 else "%Y-%m-%d") for t in TIMES],
    "two digits": [t.strftime("%d/%m/%y") for t in TIMES],
    "the day's date": [t.strftime("%y%m%d") for t in TIMES],
    "days of no year": [t.strftime("%d %b") for t in TIMES],
    "quarters": [f"{t.year}Q{t.quarter}" for t in TIMES],
    "months": [t.strftime("%b %Y") for t in TIMES],
    "zones": [f"{t:%Y-%m-%d %H:%M}{z}" for t, z in zip(TIMES, ["Z", "+02:00"] * 45, strict=True)],
    "the time before the date": [t.strftime("%H:%M, %d %b %Y") for t in TIMES],
    "when_epoch": [str(int(t.timestamp())) for t in TIMES],
    "durations": gaps([f"{k}h {d % 60}m" for k, d in zip(K, DAY, strict=True)], "n/a"),
    "laps": [f"{1 + k}:{d % 60:02}.{d % 997:03}" for k, d in zip(K, DAY, strict=True)],
    "ages": [f"{d % 20} years" if k else f"{d % 11} months" for k, d in zip(K, DAY, strict=True)],
    "links": [f"https://x.org/{k}/{d}" for k, d in zip(K, DAY, strict=True)],
    "long ids": [str(10**17 + int(d)) for d in DAY],
    "endless": gaps([f"{v:.2f}" for v in V], "inf"),
    "a formula": [f'="{k:03}"' for k in DAY],
}
ENDINGS = ("csv", "csv.gz", "tsv", "jsonl", "json", "parquet", "feather", "xlsx", "csv.zip")


def write(frame: pd.DataFrame, path: Path) -> None:
    """As its ending says, every cell as the text that it is."""
    name = path.name.removesuffix(".gz")
    if name.endswith(("jsonl", "json")):
        frame.replace("", None).to_json(path, orient="records", lines=name.endswith("jsonl"))
    elif name.endswith("parquet"):
        frame.replace("", None).astype("string").to_parquet(path, row_group_size=5)
    elif name.endswith("feather"):
        frame.replace("", None).astype("string").to_feather(path)
    elif name.endswith("xlsx"):
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if name.endswith("tsv") else ",")


def fitted(path: Path, task: str) -> TableModel:
    frame = held(tables(path, text=TextOptions(wanted=("y",))))
    inputs, y = frame.drop(columns="y"), K * 10.0 + V
    encoder = TableEncoder().fit(inputs)
    X, classes = encoder.transform(inputs), tuple("abcd") if task == "classes" else ()
    if classes:
        return TableModel.of(
            encoder, DecisionTreeClassifier(random_state=0).fit(X, K), "y", classes
        )
    return TableModel.of(encoder, make_pipeline(StandardScaler(), Ridge()).fit(X, y), "y")


def predicted(model: TableModel, path: Path, at_once: int) -> pd.DataFrame:
    table = tables(path, piece_rows=at_once, text=model.text())
    return pd.concat([*Predictor(model).frames(table)], ignore_index=True)


@settings(max_examples=6)
@given(
    kinds=st.lists(st.sampled_from([*COLUMNS]), min_size=1, max_size=5, unique=True).filter(
        lambda kinds: kinds != ["nothing"]
    ),
    task=st.sampled_from(["classes", "numbers"]),
    rows=st.lists(st.integers(0, N - 1), min_size=1, max_size=25),
    cuts=st.lists(st.integers(0, 25), max_size=3),
    endings=st.tuples(st.sampled_from(ENDINGS), st.sampled_from(ENDINGS)),
    at_once=st.integers(1, 30),
)
def test_any_rows_in_any_order_and_files_are_predicted_alike(
    tmp_path_factory, kinds, task, rows, cuts, endings, at_once
):
    folder = tmp_path_factory.mktemp("same")
    frame = pd.DataFrame({kind: COLUMNS[kind] for kind in kinds} | {"y": [f"{v:.6f}" for v in V]})
    write(frame, folder / f"all.{endings[0]}")
    model = fitted(folder / f"all.{endings[0]}", task)
    everything = predicted(model, folder / f"all.{endings[0]}", 1_000)
    parts = folder / "parts"
    parts.mkdir()
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for number, (start, end) in enumerate(pairwise(edges)):
        if start < end:
            write(frame.iloc[rows[start:end]], parts / f"{number}.{endings[1]}")
    found = predicted(model, parts, at_once)
    pd.testing.assert_frame_equal(
        found,
        everything.iloc[rows].reset_index(drop=True),
        rtol=1e-9,
        atol=1e-9,  # the same numbers, summed otherwise
    )


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "feather", "xlsx"])
def test_words_for_missing_values_are_the_same_in_every_format(tmp_path, ending):
    drinks = [["NA", "beer", "None", "wine", "n/a", "", "tea"][d % 7] for d in DAY]
    smokes = [["yes", "no", "NA"][k % 3] for k in K]
    frame = pd.DataFrame({"drinks": drinks, "smokes": smokes, "y": [f"{v:.6f}" for v in V]})
    for other in {"csv", "jsonl", "parquet", "feather", "xlsx"}:
        write(frame, tmp_path / f"all.{other}")
    model = fitted(tmp_path / f"all.{ending}", "numbers")
    assert model.encoder.feature_names_ == (
        *("drinks_beer", "drinks_tea", "drinks_wine", "smokes", "smokes_missing"),
    )
    known = model.predict(frame)
    assert np.array_equal(model.predict(polars.from_pandas(frame)), known)
    for other in ("csv", "jsonl", "parquet", "feather", "xlsx"):
        found = predicted(model, tmp_path / f"all.{other}", 7).iloc[:, -1]
        np.testing.assert_allclose(found, known, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["y", "levels"])
def test_models_of_all_methods_predict_rows_alike(tmp_path, target):
    frame = pd.DataFrame(COLUMNS).assign(y=K + V)
    frame = frame.loc[frame["levels"] != ""]
    frame.to_csv(tmp_path / "all.csv", index=False)
    for method in ["linear", "boosting", "kernel", "rfm", "gradient-features", "trained-network"]:
        found = compare(tmp_path / "all.csv", target, methods=[method], time=20)
        everything = predicted(found.best, tmp_path / "all.csv", 1_000)
        rows = DRAWN.permutation(len(frame))[:40]
        frame.iloc[rows].to_csv(tmp_path / "some.csv", index=False)
        some = predicted(found.best, tmp_path / "some.csv", 7)
        alike = everything.iloc[rows].reset_index(drop=True)
        pd.testing.assert_frame_equal(some, alike, rtol=1e-5, atol=1e-6)
