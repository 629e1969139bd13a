"""A diagnosis of whole tables: known exponents, odd columns, refusals, invariance."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.errors import TableError
from gradfeat.maths.limits import NEVER, Deadline
from gradfeat.reports.diagnosis import advice, answer
from gradfeat.rows.in_process import Threads
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table import diagnose as module
from gradfeat.table import diagnosis_rows as rows_module
from gradfeat.table import variance_shares
from gradfeat.table.diagnosis_rows import FAR, standard_inputs
from gradfeat.table.read import as_frame
from gradfeat.table.request import Request
from gradfeat.table.results import Interval
from reports.diagnosis_factory import shares

ASKED = Request("table.csv", "y")


def diagnose(frame: pd.DataFrame, request: Request):
    return module.diagnose(FrameTables(as_frame(frame)), request)


def diagnosis_rows(frame: pd.DataFrame, request: Request):
    return rows_module.diagnosis_rows(FrameTables(as_frame(frame)), request)


TARGETS = {
    "noise": (lambda _, e: e, None, 0),
    "one": (lambda z, _: z + z**2 / 2, 1, 1),
    "two": (lambda z, _: (z**2 - 1) / 2 + (z**4 - 6 * z**2 + 3) / 48**0.5, 2, 1),
    "three": (lambda z, _: z**3 - 3 * z, 3, 1),
    "four": (lambda z, _: z**4 - 6 * z**2 + 3, 4, 1),
}


def gaussian(name: str, n: int = 2000, d: int = 5, seed: int = 0) -> pd.DataFrame:
    """d columns on other scales, mixed, and a target of one direction of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    u = rng.standard_normal(d)
    y = TARGETS[name][0](X @ u / np.linalg.norm(u), rng.standard_normal(n))
    mixed = X @ (np.eye(d) + 0.5 * rng.standard_normal((d, d))) * 10.0 ** np.arange(d)
    return pd.DataFrame(mixed, columns=[f"x{i}" for i in range(d)]).assign(y=y)


@pytest.fixture
def without_shares(monkeypatch):
    """Leave out the models, which take most of the time."""
    fixed = shares(0.1, 0.0, 0.0)
    monkeypatch.setattr("gradfeat.table.diagnose.variance_shares", lambda *_: fixed)


@pytest.mark.usefixtures("without_shares")
@pytest.mark.parametrize("name", TARGETS)
def test_exponent_and_number_of_directions_are_named(name):
    found = diagnose(gaussian(name), ASKED)
    _, exponent, directions = TARGETS[name]
    assert (found.exponent, found.directions.number) == (exponent, directions)
    assert found.informative == (exponent in (1, 2))
    assert found.directions.loadings.shape == (5, directions)
    assert [d.degree for d in found.degrees] == [1, 2, 3, 4]


@pytest.mark.usefixtures("without_shares")
@pytest.mark.parametrize(
    ("name", "generative", "tested"),
    [("noise", None, 2), ("one", 1, 0), ("two", 2, 1), ("three", 1, 2), ("four", 2, 2)],
)
def test_functions_of_the_target_are_tested_below_its_exponent(name, generative, tested):
    found = diagnose(gaussian(name), ASKED)
    assert (found.generative, len(found.transformed)) == (generative, tested)
    rates = [size.rate for size in found.sample_sizes]
    assert (rates[:1] == ["d"]) == (generative != found.exponent or found.exponent == 1)


@pytest.mark.parametrize(
    ("law", "columns"),
    [
        (lambda x, r: np.exp(x) * r.standard_normal(len(x)), ("a",)),
        (lambda x, r: x * r.standard_normal(len(x)), ("a",)),
        (lambda x, r: np.sign(x) * (r.exponential(size=len(x)) - 1), ()),  # the skewness moves
        (lambda x, r: 3 * x + np.exp(x) * r.standard_normal(len(x)), None),
    ],
)
def test_noise_whose_size_moves_with_an_input_is_called_that(monkeypatch, law, columns):
    none = shares(0.0, 0.0, 0.0)
    monkeypatch.setattr(module, "variance_shares", lambda *_: none)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    found = diagnose(pd.DataFrame(X, columns=list("abcd")).assign(y=law(X[:, 0], rng)), ASKED)
    assert found.mean_unseen == (columns is not None)
    assert found.spread == (columns or ())
    if found.mean_unseen:
        assert found.generative in (1, 2)
        assert found.sample_sizes == ()
        assert not replace(found, shares=shares(0.0, 0.0, 0.5)).mean_unseen


@pytest.mark.usefixtures("without_shares")
def test_targets_of_two_values_have_no_other_functions():
    frame = gaussian("three", 500)
    signs = np.sign(frame["y"])
    for column in (signs, signs.map({-1.0: "no", 1.0: "yes"})):
        found = diagnose(frame.assign(y=column), ASKED)
        assert found.transformed == ()
        assert found.generative == found.exponent


@pytest.mark.parametrize("name", ["one", "noise"])
def test_shares_are_those_of_the_target(name):
    """y = z + z^2/2: 1 and 1/2 of 1.5 at degrees 1 and 2; six standard errors of a variance."""
    found = diagnose(gaussian(name, 240, 3), ASKED).shares
    linear, quadratic, _ = found.parts
    if name == "noise":
        assert not any(part.found for part in found.parts)
        assert abs(found.total.estimate) < 0.1
    else:
        assert linear.found
        assert quadratic.found
        assert abs(linear.share.estimate - 2 / 3) < 6 * np.sqrt(2 / 240)
        assert found.total.estimate > 0.9


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_where_a_line_is_all_there_is_nothing_else_counts(scale):
    """Penalties leave shares of 1e-6 or so to the models after the first, in every row."""
    X = np.random.default_rng(0).standard_normal((120, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] * scale)
    found = diagnose(frame, ASKED)
    assert [part.found for part in found.shares.parts] == [True, False, False]


def test_the_quadratic_part_of_correlated_columns_is_seen():
    """Sixteen readings of one number: its square is one of 136 products of whitened inputs."""
    rng = np.random.default_rng(0)
    c = rng.standard_normal(120)
    frame = pd.DataFrame(c[:, None] + 0.05 * rng.standard_normal((120, 16))).add_prefix("c")
    quadratic = diagnose(frame.assign(y=c**2), ASKED).shares.parts[1]
    assert quadratic.found
    assert quadratic.share.estimate > 0.8


def test_what_a_degree_shows_and_no_model_uses_is_not_ruled_out():
    found = diagnose(gaussian("one", 240, 3), ASKED)
    none = replace(found.shares.parts[1], share=Interval(0.0, 0.0, 0.0), found=False)
    shares = replace(found.shares, parts=(found.shares.parts[0], none, found.shares.parts[2]))
    high = module.with_blind_spots(shares, found.degrees).parts[1].share.high
    assert high >= found.degrees[1].strength > found.degrees[1].visible_from


def test_shares_and_tests_are_of_the_same_rows(monkeypatch):
    monkeypatch.setattr(rows_module, "MOST_ROWS", 300)
    found = diagnose(gaussian("one", 700), ASKED)
    assert (found.n_rows, found.n_tested, found.shares.rows) == (700, 300, 300)
    monkeypatch.setattr(rows_module, "MANY_PRODUCTS", 2)
    monkeypatch.setattr(rows_module, "FEWER_ROWS", 200)
    found = diagnose(gaussian("one", 700), ASKED)
    assert (found.n_tested, found.shares.rows) == (200, 200)


def test_few_rows_of_noise_are_no_evidence_of_nothing():
    found = diagnose(gaussian("noise", 60), ASKED)
    assert all(part.share.high > 0.05 for part in found.shares.parts[:2])
    assert "too few to tell" in answer(found)
    assert "stays open" in answer(found)
    assert "too few to tell" not in answer(diagnose(gaussian("noise", 1000), ASKED))


@pytest.mark.usefixtures("without_shares")
def test_units_of_the_columns_do_not_matter():
    frame = gaussian("two", 600)
    other = frame.assign(x1=frame["x1"] * -1e6 + 5, y=frame["y"] * 1e-9)
    one, two = diagnose(frame, ASKED), diagnose(other, ASKED)
    assert [d.p_value for d in one.degrees] == [d.p_value for d in two.degrees]
    # Rounding of 1e-16 times the condition of the mixed inputs, below 1e4, and sums of 600 rows.
    assert np.allclose(one.curvature.eigenvalues, two.curvature.eigenvalues, atol=1e-9)


@pytest.mark.usefixtures("without_shares")
def test_the_seed_changes_the_draws_and_nothing_else_does():
    frame = gaussian("noise", 200)
    same = [replace(diagnose(frame, ASKED), seconds=0.0) for _ in range(2)]
    assert repr(same[0]) == repr(same[1])
    other = diagnose(frame, replace(ASKED, seed=1))
    assert other.degrees != same[0].degrees


@pytest.mark.usefixtures("without_shares")
def test_categories_gaps_and_far_values():
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "kind": rng.choice(list("abcd"), n),
            "far": rng.standard_cauchy(n) ** 3,
            "x": rng.standard_normal(n),
            "rare": np.r_[1.0, np.zeros(n - 1)],
        }
    )
    frame["y"] = frame["x"] + (frame["kind"] == "a")
    frame.loc[::9, "x"] = None
    found = diagnose(frame, ASKED)
    assert found.exponent == 1
    assert found.n_inputs < found.n_encoded, "levels of a category sum to one"
    assert any("moved to that distance, in far (" in r.text for r in found.remarks)
    assert all(np.isfinite(d.strength) for d in found.degrees)


@pytest.mark.usefixtures("without_shares")
def test_classes_are_told_apart():
    frame = gaussian("one", 900)
    codes = pd.qcut(frame["y"], 3, labels=False)
    found = diagnose(frame.assign(y=[f"class {c}" for c in codes]), ASKED)
    assert found.task == "classification"
    assert found.exponent == 1
    assert not found.curvature.signed


def test_two_classes_are_one_output_and_many_are_five():
    frame = gaussian("one", 600)
    for k, outputs in ((2, 1), (3, 3), (8, 5)):
        codes = pd.qcut(frame["y"], k, labels=False)
        rows = diagnosis_rows(frame.assign(y=[f"c{c}" for c in codes]), ASKED)
        assert rows.y.shape == (600, outputs)


@pytest.mark.usefixtures("without_shares")
def test_more_columns_than_rows():
    X = np.random.default_rng(0).standard_normal((60, 80))
    found = diagnose(pd.DataFrame(X).assign(y=X[:, 0]), ASKED)
    assert found.n_inputs == 12
    assert any("principal directions" in r.text for r in found.remarks)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.head(49), "49 rows"),
        (lambda f: f.assign(y=1.0), "nothing to predict"),
        (lambda f: f[["y"]], "no column beside the target"),
        (lambda f: f.rename(columns={"y": "z"}), "no column 'y'"),
        (lambda f: f[["y"]].assign(a=1), "No input column varies"),
    ],
)
def test_tables_that_cannot_be_used(change, said):
    with pytest.raises(TableError, match=said):
        diagnose(change(gaussian("one", 100)), ASKED)


def test_inputs_have_unit_covariance_and_no_far_values():
    X = np.random.default_rng(0).standard_normal((500, 3))
    X[0] = 1e9
    found = standard_inputs(X)
    # Of 500 rows the outer 1 % moves the quantiles by less than a fifth.
    assert np.abs(found.columns).max() < 1.2 * FAR
    assert found.clipped == pytest.approx([1 / 500] * 3)
    assert found.varying == 3
    assert float(found.whitened.norm(dim=1).max()) <= 3**0.5 + 3 + 1e-12


def test_a_direction_has_a_correlation_for_each_level_of_a_category():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "kind": rng.choice(["p", "q", "r"], 400)})
    y = frame["kind"].map({"p": -2.0, "q": 0.0, "r": 2.0}) + 0.1 * frame["a"]
    found = diagnose(frame.assign(y=y), Request("t", "y")).directions
    first = dict(zip(found.columns, found.loadings[:, 0], strict=True))
    assert list(first) == ["a", "kind: p", "kind: q", "kind: r"]
    assert first["kind: p"] * first["kind: r"] < 0
    assert abs(first["kind: q"]) < 0.3 < min(abs(first["kind: p"]), abs(first["kind: r"]))


def test_values_of_truth_columns_are_no_outliers():
    X = np.random.default_rng(0).integers(0, 2, (300, 2)).astype(float)
    X[:, 1] = X[:, 1] * (np.arange(300) % 7 == 0)
    assert standard_inputs(X).clipped.tolist() == [0.0, 0.0]


@pytest.mark.usefixtures("without_shares")
def test_the_tests_of_a_diagnosis_read_fewer_rows_where_time_is_short(monkeypatch):
    X = np.random.default_rng(0).standard_normal((1500, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] ** 2)
    request = ASKED
    now = itertools.count()  # a second at each look: a test of 500 rows takes one
    table = diagnosis_rows(frame, request)
    until = Deadline.after(20.0, lambda: float(next(now)))
    assert module._rows_in_time(table, 0, until) == 735  # 4 s (735/500)^2 is less than what is left
    slow = itertools.chain([0, 1, 9], itertools.count(10))  # the first time takes eight
    until = Deadline.after(30.0, lambda: float(next(slow)))
    assert module._rows_in_time(table, 0, until) == 735
    assert module._rows_in_time(table, 0, NEVER) == 1500
    monkeypatch.setattr(module, "_rows_in_time", lambda *_: 600)
    found = diagnose(frame, request)
    assert (found.n_tested, found.exponent) == (600, 2)
    assert any(one.text.startswith("To keep to the time asked for") for one in found.remarks)


def test_what_hardly_varies_in_a_fold_gets_no_slope_from_it():
    """A rare level: nearly the same in all rows that are learned from, and not in those held out.

    Its slope there is that of the noise over 1e-3.
    """
    Z = torch.as_tensor(np.random.default_rng(0).standard_normal((400, 6)))
    y = Z[:, :5].sum(1, keepdim=True) + 0.1 * Z[:, 5:]
    Z[:300, 5] *= 1e-3
    predicted, _ = variance_shares._ridge(Z[:300], y[:300], Z[300:])
    assert (y[300:] - predicted).square().mean() < 0.1


@pytest.mark.usefixtures("without_shares")
def test_columns_are_left_out_of_a_diagnosis():
    frame = gaussian("noise", 200).assign(late=lambda f: 2 * f["y"])
    found = diagnose(frame, replace(ASKED, ignore=("late",)))
    assert "late" not in found.directions.columns
    assert found.exponent is None
    with pytest.raises(TableError, match="no column 'lat' to ignore"):
        diagnose(frame, replace(ASKED, ignore=("lat",)))


@pytest.mark.slow
def test_models_of_a_diagnosis_are_tested_on_stretches_of_time_they_have_not_seen():
    """Levels of a walk tell of rows at the same time alone."""
    rng = np.random.default_rng(0)
    walk = np.repeat(rng.normal(size=60), 10)
    frame = pd.DataFrame({"when": np.arange(600), "x": walk + 0.01 * rng.normal(size=600)})
    frame["y"] = np.repeat(rng.normal(size=60), 10)
    shuffled = frame.sample(frac=1, random_state=0)
    mixed = diagnose(shuffled.drop(columns="when"), ASKED).shares
    apart = diagnose(shuffled, replace(ASKED, time_column="when")).shares
    assert mixed.total.low > 0.3
    assert apart.total.estimate < 0.05


def test_rows_of_a_diagnosis_know_their_stretch_of_time():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"when": np.arange(90), "x": rng.normal(size=90), "y": rng.normal(size=90)}
    )
    table = diagnosis_rows(frame, replace(ASKED, time_column="when", ignore=("when",)))
    assert table.source == ("x",)
    uneven = frame.assign(when=np.cumsum(rng.random(90)))
    assert diagnosis_rows(uneven, replace(ASKED, time_column="when")).source == ("when", "x")
    assert np.bincount(table.stretch).tolist() == [30, 30, 30]
    assert "a stretch of 'when' at a time" in table.remarks[-1].text
    with pytest.raises(TableError, match="so many equal values"):
        diagnosis_rows(frame.assign(when=1), replace(ASKED, time_column="when"))


def test_copies_of_a_row_are_drawn_one_by_one():
    """A coin for each of 8,000 rows of 512 contents: among the first rows no content is whole."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (8_000, 9))
    frame = pd.DataFrame(X, columns=[f"b{i}" for i in range(9)]).assign(y=rng.integers(0, 2, 8_000))
    few = diagnosis_rows(frame, ASKED).first(2_000)
    _, cell = np.unique(few.inputs.columns, axis=0, return_inverse=True)
    rows, ones = np.bincount(cell.ravel()), np.bincount(cell.ravel(), few.y[:, 0].numpy())
    mean = ones.sum() / rows.sum()
    spread = ((ones - rows * mean) ** 2 / (rows * mean * (1 - mean))).mean()
    assert len(rows) > 490
    assert 0.7 < spread < 1.2  # 1 for independent rows, 3.8 where copies stay together


def test_groups_of_a_diagnosis_are_left_out_together():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": np.repeat(np.arange(30), 3), "x": rng.normal(size=90)})
    table = diagnosis_rows(frame.assign(y=frame["x"]), replace(ASKED, group_column="who"))
    assert table.source == ("x",)
    assert np.bincount(table.stretch).tolist() == [30, 30, 30]
    assert "groups of 'who' left out together" in table.remarks[-1].text
    with pytest.raises(TableError, match="or by --group-column: give one"):
        diagnosis_rows(
            frame.assign(y=frame["x"]), replace(ASKED, group_column="who", time_column="x")
        )
    with pytest.raises(TableError, match="so many equal values that it makes no 3 parts"):
        diagnosis_rows(
            frame.assign(y=frame["x"], who=[1] * 80 + [2] * 10), replace(ASKED, group_column="who")
        )


def groups(rng: np.random.Generator, signal: float) -> pd.DataFrame:
    """40 groups of 5 to 15 rows, of which inputs and target have a part each; `signal` of a."""
    who = np.repeat(np.arange(40), rng.integers(5, 16, 40))
    X = 0.9 * rng.standard_normal((40, 3))[who] + 0.4 * rng.standard_normal((len(who), 3))
    y = 0.7 * rng.standard_normal(40)[who] + 0.7 * rng.standard_normal(len(who)) + signal * X[:, 0]
    return pd.DataFrame(X, columns=list("abc")).assign(by=who, y=y)


def waves(rng: np.random.Generator, signal: float) -> pd.DataFrame:
    """Two inputs and errors that vary slowly, each AR(1) with .9, in 400 rows."""
    X = rng.standard_normal((600, 3)) * np.sqrt(1 - 0.9**2)
    for before, row in itertools.pairwise(X):
        row += 0.9 * before
    a, b, e = X[200:].T
    return pd.DataFrame({"a": a, "b": b, "by": np.arange(400), "y": e + signal * a})


@pytest.mark.usefixtures("without_shares")
@pytest.mark.parametrize(("draw", "option"), [(groups, "group_column"), (waves, "time_column")])
def test_rows_that_tell_of_each_other_are_no_signal(draw, option):
    """Single rows were exchanged: 13 of 14 such tables had an information exponent.

    At a level of .01 two of 16 tables are found in 1.1 % of all draws.
    """
    asked = replace(ASKED, **{option: "by"}, ignore=("by",) if option == "time_column" else ())
    tables = [draw(np.random.default_rng(k), 0.0) for k in range(16)]
    assert sum(diagnose(one, asked).generative is not None for one in tables) <= 1
    alone = replace(ASKED, ignore=("by",))
    assert sum(diagnose(one, alone).exponent is not None for one in tables) > 3
    found = [diagnose(draw(np.random.default_rng(k), 2.0), asked) for k in range(4)]
    assert [(one.exponent, one.directions.number) for one in found] == [(1, 1)] * 4
    assert found[0].units == (40 if option == "group_column" else 20)


@pytest.mark.usefixtures("without_shares")
def test_few_groups_are_told_in_place_of_a_signal():
    frame = groups(np.random.default_rng(0), 2.0)
    found = diagnose(frame.assign(by=frame["by"] % 8), replace(ASKED, group_column="by"))
    assert "Of 8 groups of 'by' no test can tell a signal about y from chance (12 are" in answer(
        found
    )
    assert "first gradient step has anything to follow stays open" in answer(found)
    assert found.exponent is None
    none = replace(found, shares=shares(0.0, 0.0, 0.0))
    assert "more groups of 'by' or other columns are needed" in advice(none)


NUMBER = r"((?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?)"


@pytest.mark.usefixtures("without_shares")
@pytest.mark.parametrize("when", [None, "when"])
def test_rows_that_stream_are_diagnosed_as_rows_that_are_held(tmp_path, monkeypatch, when):
    """A mixed table with gaps, strays, and more rows than the tests read, in one piece and nine."""
    monkeypatch.setattr(rows_module, "MOST_ROWS", 300)
    frame = gaussian("two", 700, 3).assign(kind=list("abcdefg") * 100, code=["1", "2"] * 350)
    frame["when"] = pd.date_range("2020-01-01", periods=700).strftime("%Y-%m-%d")
    frame.loc[::9, "x1"], frame.loc[5, "code"] = None, "?"
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = replace(ASKED, time_column=when)
    held = module.diagnose(tables(tmp_path / "t.csv"), asked)
    pieces = tables(tmp_path / "t.csv", piece_rows=80)
    streamed = module.diagnose(pieces, asked, engine=Threads(2))
    # Sums of the same rows end in other bits where the blocks begin elsewhere in memory.
    one, other = (re.split(NUMBER, repr(replace(d, seconds=0.0))) for d in (held, streamed))
    assert one[::2] == other[::2]
    numbers = [np.array(each[1::2], dtype=float) for each in (one, other)]
    np.testing.assert_allclose(*numbers, rtol=1e-9, atol=1e-12)
    assert (held.n_rows, held.n_tested) == (700, 300)
    said = " ".join(remark.text for remark in held.remarks)
    assert "The rows that are used were drawn at random, by a hash." in said
    assert "'?', line 7" in said
