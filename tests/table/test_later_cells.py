"""What later tables hold that no training row has, and remarks that both roads make alike."""

from __future__ import annotations

from unicodedata import normalize

import numpy as np
import pandas as pd
import pytest

from gradfeat import compare
from gradfeat.table.encode import TableEncoder
from gradfeat.table.reading.decide import plan_column

RNG = np.random.default_rng(3)
N = 120
X, Z = RNG.uniform(0, 100, N), RNG.standard_normal(N)
Y = X / 25 + Z


def of_files(path, **how):
    return compare(path, "y", methods=["linear"], time=20, **how)


def remarks(found):
    return [remark.text for remark in found.results.remarks]


def test_no_is_a_value_never_seen_where_all_training_rows_say_yes():
    plan = plan_column("x", pd.Series([True, None, True], dtype=object))
    found = plan.encode(pd.Series([True, False, None]))
    assert [(one.example, one.cells) for one in found.unread] == [("False", 1)]


def test_texts_unlike_all_of_training_stay_within_its_numbers():
    days = pd.DataFrame({"x": [f"2021-{1 + int(3.6 * x):03d}" for x in X]})
    fitted = TableEncoder().fit(days)
    encoder = TableEncoder.from_contents(fitted.to_contents())
    known = encoder.transform(days)
    later = encoder.transform(days["x"].str.replace("-", "/").to_frame())
    assert (known.min(axis=0) <= later).all()
    assert (later <= known.max(axis=0)).all()


@pytest.mark.parametrize(
    ("way", "later"),
    [
        (lambda s: round(s, 3), lambda s: round(s)),
        (lambda s: round(s), lambda s: round(s, 3)),
        (lambda s: round(s * 1e6), lambda s: round(s * 1e9)),
        (lambda s: round(s) * (1000 if round(s) % 2 else 1), lambda s: round(s * 1e3)),
    ],
)
def test_seconds_since_1970_are_dates_with_fractions_and_in_parts(way, later):
    seconds = [1.6e9 + 864_000 * x for x in X]
    plan = plan_column("ts", pd.Series([way(s) for s in seconds]))
    assert plan.kind == "date"
    found = plan.encode(pd.Series([later(s) for s in seconds]))
    assert not found.unread
    assert np.abs(found.parts["_seconds"] - seconds).max() < 1


def test_names_of_browsers_are_not_told_to_be_amounts():
    name = "Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0"
    names = [f"curl/7.{k}.0" if k % 9 == 0 else name.format(k % 60) for k in range(N)]
    assert not TableEncoder().fit(pd.DataFrame({"x": names})).remarks


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_of_columns_are_composed_or_not(tmp_path, form):
    def table(name):
        rows = [f"{x:.3f},{z:.3f},{y:.4f}" for x, z, y in zip(X, Z, Y, strict=True)]
        return "\n".join([f"{name},z,y", *rows])

    (tmp_path / "a.csv").write_text(table(normalize(form, "Größe")), encoding="utf-8")
    (tmp_path / "b.csv").write_text(table(normalize("NFD", "Größe")), encoding="utf-8")
    model = of_files(tmp_path / "a.csv").best
    known = model.predict(model.read(tmp_path / "a.csv"))
    assert (model.predict(model.read(tmp_path / "b.csv")) == known).all()
    assert np.allclose(model.predict(pd.read_csv(tmp_path / "b.csv")), known)


def test_rows_of_sums_and_blocks_are_told_alike_held_and_streamed(tmp_path):
    rows = []
    for k, region in enumerate(["North", "South", "East"]):
        part = slice(40 * k, 40 * k + 40)
        rows += [
            f"{region},{k if i == 0 else ''},{x:.3f},{y:.3f}"
            for i, (x, y) in enumerate(zip(X[part], Y[part], strict=True))
        ]
        rows.append(f"{region} Total,,{X[part].round(3).sum():.3f},{Y[part].round(3).sum():.3f}")
    (tmp_path / "a.csv").write_text("\n".join(["region,month,x,y", *rows]))
    held, streamed = (
        remarks(of_files(tmp_path / "a.csv", stream=stream)) for stream in (False, True)
    )
    assert sorted(held) == sorted(streamed)
    (sums,) = (said for said in held if said.startswith("Left out, as no observations"))
    assert sums.index("North Total") < sums.index("South Total") < sums.index("East Total")
    assert any(said.startswith("'month' has a value in one of 40 rows") for said in held)


def test_empty_rows_make_no_blocks(tmp_path):
    rows = [line for x, y in zip(X, Y, strict=True) for line in (f"{x:.3f},{y:.3f}", ",")]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *rows]))
    assert not any("first of each block" in said for said in remarks(of_files(tmp_path / "a.csv")))


@pytest.mark.parametrize(
    ("cells", "later", "unit"),
    [
        ([f"{n / 10} kg" for n in range(300, 400)], ["37.2", "38 kg", "0", "0.04 t"], "'kg'"),
        ([f"{n} °F" if n % 3 else f"{n} °C" for n in range(30, 130)], [37.2, 0.0], "'°F'"),
    ],
)
def test_a_number_without_the_unit_of_all_training_cells_is_told(cells, later, unit):
    """As text or stored; 0 is the same in every unit but those of temperatures."""
    plan = plan_column("x", pd.Series(cells))
    assert plan.encode(pd.Series(cells)).unread == ()
    (said,) = plan.encode(pd.Series(later)).unread
    assert (said.cells, said.example, said.read, unit in said.what) == (1, "37.2", True, True)


def test_amounts_and_columns_of_both_kinds_need_no_unit():
    for cells in (
        [f"${n}" for n in range(90)],
        [f"{n} kg" if n % 9 else f"{n}" for n in range(90)],
    ):
        plan = plan_column("x", pd.Series(cells))
        assert plan.encode(pd.Series(["33"])).unread == ()
