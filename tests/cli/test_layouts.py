"""Texts of every layout, from the command line: fitted held and streamed, predicted, diagnosed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gradfeat as library
from cli.tables import gradfeat, results

pytestmark = pytest.mark.usefixtures("no_page")


def frame(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n)).round(4)
    return pd.DataFrame({"x": x, "k": rng.choice(["a b", "c"], n), "y": (2 * x + z).round(3)})


def blanks(rows: pd.DataFrame) -> str:
    return rows.to_csv(sep=" ", index=False, header=False)


def named_rows(rows: pd.DataFrame) -> str:
    return rows.to_csv(sep=" ").lstrip(" ").removeprefix('"" ')


def preamble(rows: pd.DataFrame) -> str:
    return "# from a lab\n" + rows.to_csv(index=False)


WRITTEN = {
    "blanks": (blanks, "column_3", (), "row, not a header"),
    "R": (named_rows, "y", (), "R writes before"),
    "preamble": (preamble, "y", (), "'#' are comments"),
    "told": (
        lambda f: f.to_csv(sep=":", index=False).replace("\n", "\n;;\n", 1),
        "y",
        ("--separator", ":", "--comment", ";;"),
        "",
    ),
}


@pytest.mark.parametrize("road", ["--no-stream", "--stream"])
@pytest.mark.parametrize("case", WRITTEN, ids=str)
def test_a_text_is_fitted_and_files_like_it_are_predicted(capsys, tmp_path, case, road):
    write, target, told, said = WRITTEN[case]
    rows = frame()
    data, new, out = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "out"
    data.write_text(write(rows))
    new.write_text(write(rows.drop(columns="y").head(5)))
    words = ("--target", target, "--methods", "linear", "--time", 1, "--out", out, *told)
    ran = gradfeat(capsys, "fit", data, road, *words)
    assert ran.code == 0, ran.err
    assert said in ran.out.replace("\n", "")
    assert ("Read so" in ran.out) == bool(said)
    assert not said or any(said in remark for remark in results(out)["remarks"])
    assert results(out)["n_train"] + results(out)["n_test"] == 120
    ran = gradfeat(capsys, "predict", out / "model.gradfeat", new, "--out", tmp_path / "p.csv")
    assert ran.code == 0, ran.err
    found = pd.read_csv(tmp_path / "p.csv")[f"predicted_{target}"]
    gradfeat(capsys, "predict", out / "model.gradfeat", data, "--out", tmp_path / "q.csv")
    whole = pd.read_csv(tmp_path / "q.csv")[f"predicted_{target}"]
    np.testing.assert_allclose(found, whole.head(5), rtol=1e-9)


def test_python_takes_the_same_options(tmp_path):
    data = tmp_path / "a.txt"
    data.write_text(frame().to_csv(sep=":", index=False, header=False))
    options = {"separator": ":", "header": False}
    found = library.compare(data, "column_3", methods=["linear"], time=1, **options)
    assert found.results.n_rows == 120
    assert "separator=':', header=False" in found.results.command
    said = library.diagnose(data, "column_3", **options)
    assert said.results.command.endswith("separator=':', header=False)")
