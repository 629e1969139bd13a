"""The Python door: tables of any kind, what a comparison and a diagnosis show, notebooks."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib import pyplot as plt

import gradfeat
from gradfeat.cli.table import commands
from gradfeat.errors import ModelFileError, TableError
from gradfeat.interface.compare import Comparison
from gradfeat.maths.limits import Deadline, within
from table.streamed_tables import mixed

QUICK = {"methods": ["linear", "random-features"], "width": 16, "time": 1}

# Sums over rows in place of singular values: rounding times a condition of about 1e4.
ROUNDING = 1e-9


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return mixed(160)


@pytest.fixture(scope="module")
def found(frame: pd.DataFrame) -> Comparison:
    return gradfeat.compare(frame, "y", **QUICK)


def written(frame: pd.DataFrame, folder, kind: str):
    """The table as a user may give it."""
    if kind == "csv":
        frame.to_csv(folder / "t.csv", index=False)
        return folder / "t.csv"
    if kind == "folder":
        (folder / "rows").mkdir()
        for number, part in enumerate((frame.iloc[:100], frame.iloc[100:])):
            part.to_parquet(folder / "rows" / f"{number}.parquet", index=False)
        return str(folder / "rows")
    return {"arrow": pa.Table.from_pandas, "polars": pl.from_pandas}[kind](frame)


@pytest.mark.parametrize("kind", ["csv", "folder", "arrow", "polars"])
def test_a_table_of_any_kind_gives_the_same_comparison(frame, found, tmp_path, kind):
    other = gradfeat.compare(written(frame, tmp_path, kind), "y", **QUICK)
    if kind == "csv":  # dates are text there, by which other rows are held out
        found = gradfeat.compare(pd.read_csv(tmp_path / "t.csv"), "y", **QUICK)
    scores = ["method", "R2", "R2_low", "RMSE"]
    pd.testing.assert_frame_equal(other.table[scores], found.table[scores], rtol=ROUNDING)


def test_a_frame_streams_where_it_is_asked_to(frame, found):
    other = gradfeat.compare(frame, "y", stream=True, **QUICK)
    assert other.results.streaming is not None
    one, two = (each.best.predict(frame) for each in (other, found))
    np.testing.assert_allclose(one, two, rtol=ROUNDING, atol=ROUNDING)


def test_a_comparison_is_a_table_a_verdict_and_models(frame, found):
    assert set(found.table["method"]) == {"linear", "random-features"}
    best = found.table.iloc[0]
    assert best["method"] == found.results.best
    assert best["R2_low"] < best["R2"] < best["R2_high"]
    assert found.learner is None  # linear and random features learn none
    assert len(found.best.predict(frame.head(3))) == 3
    assert set(found.importances["column"]) <= set(frame.columns)
    sure = found.importances["low"] > 0
    assert (~sure).is_monotonic_increasing
    for part in (sure, ~sure):
        assert found.importances["loss"][part].is_monotonic_decreasing
    assert "predicts y beyond chance" in found.verdict  # 40 test rows; no method learned features
    assert all(isinstance(remark, str) for remark in found.remarks)
    assert "Linear model" in repr(found)


def test_every_figure_of_the_page_is_drawn_on_given_axes(found):
    assert {"comparison", "importances", "predicted"} <= set(found.plot)
    for name in found.plot:
        ax = plt.figure().add_subplot()
        assert name.isidentifier()
        assert getattr(found.plot, name)(ax=ax) is ax
    plt.close("all")
    with pytest.raises(AttributeError, match="there is no figure 'roc': there are comparison"):
        found.plot.roc  # noqa: B018
    assert [*pickle.loads(pickle.dumps(found)).plot] == [*found.plot]  # it recursed without end


def test_a_notebook_shows_the_page_in_a_style_of_its_own(found, tmp_path):
    html, page = found._repr_html_(), found.report(tmp_path / "page.html").read_text()
    assert found.best.about["method"] in html
    assert html.count("<svg") == page.count("<svg") > 3
    assert html.count("<style>.gradfeat-page {") == html.count("<style") == 1
    assert not re.search(r":root|\bbody\b\s*[{,]", html)
    key = re.search(r' id="(g\w+-)', html)
    assert key is not None
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    assert all(one.startswith(key[1]) for one in ids)
    assert all(one in ids for one in re.findall(r'(?:url\(#| href="#)([^")]*)', html))


def test_figures_for_which_there_is_no_time_are_left_out_and_told(found, tmp_path):
    late, there = replace(found), {*found.plot}  # its page is drawn once
    with within(Deadline(0.0, clock=lambda: 1.0)):
        page = late.report(tmp_path / "page.html").read_text()
    assert "<svg" not in page
    assert {*re.findall('data-left-out="([^"]+)"', page)} == there
    assert page.count("<figcaption>") == len(there)
    assert all(name in late.left_out for name in there)
    assert found.left_out == ""


def test_all_files_are_saved_together(found, tmp_path):
    folder = found.save(tmp_path / "out")
    assert {"report.html", "results.json", "comparison.csv"} <= {p.name for p in folder.iterdir()}
    told = json.loads((folder / "results.json").read_text())
    assert told["command"].startswith("gradfeat.compare(table, 'y', methods=")
    assert told["command"].endswith(", time=1, width=16)")
    assert pd.read_csv(folder / "comparison.csv")["R2"].tolist() == found.table["R2"].tolist()


def test_progress_is_told_by_steps(frame):
    told: list[tuple[str, float, str]] = []
    gradfeat.compare(frame, "y", progress=lambda *step: told.append(step), **QUICK)
    names = list(dict.fromkeys(name for name, _, _ in told))
    assert names == ["Reading", "Preparing", "Linear model", "Random features", "Summary"]
    done = [share for _, share, _ in told]
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert any("160 rows, 8 columns" in words for _, _, words in told)


#: Options of the command line alone: where it writes, what it prints, when it began.
COMMAND_ALONE = {"data", "out", "form", "quiet", "verbose"}


@pytest.mark.parametrize("name", ["compare", "diagnose"])
def test_every_option_of_the_command_is_a_keyword_with_its_default(name):
    command = {"compare": commands.fit, "diagnose": commands.diagnose}[name]
    keywords = signature(getattr(gradfeat, name)).parameters
    options = {n: p.default for n, p in signature(command).parameters.items()}
    assert options.keys() - COMMAND_ALONE <= keywords.keys()
    for option, default in options.items() - {(n, options[n]) for n in COMMAND_ALONE & {*options}}:
        assert (keywords[option].default or None) == (default or None), option


def test_what_is_no_table_is_one_sentence(frame):
    with pytest.raises(TableError, match=r"is of type int, which Arrow.*: give a DataFrame"):
        gradfeat.compare(3, "y")
    with pytest.raises(TableError, match="no column 'z'"):
        gradfeat.compare(frame, "z")
    with pytest.raises(TableError, match="The methods asked for include 'lineal'"):
        gradfeat.compare(frame, "y", methods=["lineal"])


def test_a_text_is_one_name_in_every_list(frame, found):
    other = gradfeat.compare(frame.assign(ab=frame["y"]), "y", ignore="ab", **QUICK)
    assert other.table["R2"].tolist() == found.table["R2"].tolist()
    other = gradfeat.compare(frame, "y", **QUICK | {"methods": "linear"})
    assert other.table["method"].tolist() == ["linear"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time": 0}, "time is 0: give a number from 1 to 604,800"),
        ({"time": np.inf}, "time is inf: give a number from 1"),
        ({"time": "5"}, "time is '5': give a number"),
        ({"seed": 1.5}, "seed is 1.5: give a whole number"),
        ({"progress": 3}, "progress is 3: give a function"),
        ({"jobs": "2"}, "jobs is '2': give a whole number or None"),
        ({"separator": 1}, "separator is 1: give a text or None"),
        ({"checkpoint": 3}, "checkpoint is 3: give a text or a path or None"),
        ({"seed": -1}, "seed is -1: give a number from 0 to 4,294,967,295"),
        ({"jobs": 0}, "jobs is 0: give a number from 1 to 1,024"),
        ({"width": 10**6}, "width is 1000000: give a number from 2 to 100,000"),
        ({"task": "class"}, "task is 'class': give 'auto' or 'regression' or 'classification'"),
        ({"missing_target": "keep"}, "missing_target is 'keep': give 'drop' or 'refuse'"),
    ],
)
def test_what_the_command_refuses_is_refused_in_python_too(frame, options, words):
    with pytest.raises(ValueError, match=words):
        gradfeat.compare(frame, "y", **options)


def test_the_verdict_names_the_best_method_where_features_make_no_difference():
    x = np.random.default_rng(0).normal(size=(200, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=x[:, 0])
    found = gradfeat.compare(frame, "y", methods=["linear", "induced-network"], time=1)
    assert "Linear model" in found.verdict.partition(", with test R2 1.000 (95 % ")[0]
    assert "Learning features makes no practical difference" in found.verdict


def test_names_of_columns_may_be_numbers():
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.standard_normal((80, 3)))
    frame = frame.assign(y=frame[0])
    found = gradfeat.compare(frame, "y", methods=["linear"], time=1, ignore=2, missing=-999)
    assert found.importances["column"].tolist()[0] == "0"
    assert "2" not in found.importances["column"].tolist()
    found = gradfeat.compare(frame, "y", methods=["linear"], time=1, time_column=1, ignore=[2])
    assert found.importances["column"][0] == "0"


@pytest.mark.parametrize(("names", "target"), [([0, 1], 1), ([("a", "p"), ("y", "")], ("y", ""))])
def test_a_target_may_be_any_name_of_a_column(names, target):
    values = np.random.default_rng(0).normal(size=(60, 1)) @ np.ones((1, 2))
    columns = pd.MultiIndex.from_tuples(names) if target != 1 else names
    frame = pd.DataFrame(values, columns=columns)
    assert gradfeat.compare(frame, target, time=1, methods=["linear"]).table["R2"][0] > 0.99


def test_a_diagnosis_is_tables_and_words():
    a, b = np.random.default_rng(0).standard_normal((2, 300))
    frame = pd.DataFrame({"a": a, "b": b, "y": a**2})
    found = gradfeat.diagnose(pl.from_pandas(frame), "y")
    assert found.table["degree"].tolist() == [1, 2, 3, 4]
    assert found.table["found"].tolist()[:2] == [False, True]
    assert found.shares["part"].tolist() == ["linear", "quadratic", "higher"]
    assert found.directions["direction1"].abs().idxmax() == "a"
    assert "information exponent 2" in found.verdict
    assert {"shares", "degrees", "curvature", "loadings1"} <= set(found.plot)
    assert found.advice
    assert found.results.command == "gradfeat.diagnose(table, 'y')"


def test_python_is_told_in_its_own_words():
    """Errors named flags of the command line."""
    frame = pd.DataFrame({"a": range(60), "y": ["u"] * 59 + ["v"]})
    with pytest.raises(TableError, match="rare_classes='drop' leaves them out") as told:
        gradfeat.compare(frame, "y", time=1)
    assert "--" not in str(told.value)
    with pytest.raises(TableError, match=r"jobs= and dask= spread rows .* stream=False asks"):
        gradfeat.diagnose(frame, "y", jobs=2, stream=False)
    with pytest.raises(TableError, match="--rare-classes drop leaves them out"):
        gradfeat.compare(frame, "y", time=1, command="gradfeat.exe fit t.csv --target y")


def test_what_cannot_be_saved_and_what_interval_is_none_are_a_sentence(tmp_path):
    with pytest.raises(ModelFileError, match="A dict is not gradfeat's"):
        gradfeat.save({}, tmp_path / "m")
    frame = pd.DataFrame({"a": np.arange(20.0)})
    model = gradfeat.TableModel(gradfeat.LinearRegressor()).fit(frame, frame["a"])
    with pytest.raises(TableError, match="interval is 'x': give per cent"):
        model.predictions(frame, interval="x")
    with pytest.raises(TableError, match=r"holds no scores of held-out rows.*compare"):
        model.predictions(frame, interval=90)


def test_remarks_name_parameters_where_python_asks():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"my x": rng.normal(size=200), "z": rng.normal(size=200)})
    frame["y"] = frame["my x"] + 0.1 * frame["z"]
    frame.loc[:9, "my x"] = -999.0
    for words, expected in (
        ("", "missing='my x=-999' takes"),
        ("run", "--missing 'my x=-999' takes"),
    ):
        found = gradfeat.diagnose(frame, "y", time=1, command=words).results
        assert expected in " ".join(remark.text for remark in found.remarks)
