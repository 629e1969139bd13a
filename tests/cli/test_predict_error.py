"""predict-error: the numbers of `predict_error`, in three formats; what it refuses."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any

import numpy as np
import pytest

from cli.lab_files import refused, well
from cli.tables import gradfeat
from gradfeat.cli.predict_error import printing
from gradfeat.cli.predict_error.read import SETTINGS, activation, numbers
from gradfeat.figures.step_errors import step_errors
from gradfeat.maths.activations import NAMES, CentredReLU
from gradfeat.theory.predicted_errors import predict_error
from gradfeat.theory.teacher import Teacher

SIZES = ("--phi", "1/2", "--psi", "2/3")
NET = ("--activation", "centred_relu", "--teacher", "setting-2")
#: Where the errors have a closed form, which takes no time.
REUSED = ("--sample", "reused")


def said(capsys: Any, *words: object) -> str:
    return " ".join(well(capsys, "predict-error", *words).split())


def record(capsys: Any, *words: object) -> dict[str, Any]:
    return json.loads(well(capsys, "predict-error", *words, "--format", "json"))


def test_the_talks_setting_in_words(capsys):
    shown = said(capsys, *SIZES, *NET, "--alpha", 0.2)
    assert "A network of 1,800 neurons (centred_relu) on 1,200 Gaussian inputs" in shown
    assert "E y^2 = 2.000: 50 % linear, 50 % of higher degree and no noise" in shown
    # last but one the limit at l = 1: 3.021 - .361, where features of degree 2 are noise
    assert "0.2 4.74 0.416 0.328 2.660 11.8 % 2.660 1" in shown
    assert "random features 0 0.478 0.374 3.017" in shown
    assert "best linear model 1.000" in shown
    assert "0 < alpha < 0.25: to the features the step adds the column X beta" in shown
    assert "eta = 4.74 is predicted to lower the test error by 12 % over random" in shown
    assert "It stays above that of the best linear model (1.000)" in shown


def test_json_holds_the_numbers_of_the_function(capsys):
    sizes = ("--rows", 2400, "--inputs", 1200, "--width", 1800)
    options = ("--penalty", 0.05, "--residual", "y - f0", "--noise", 0.5)
    found = record(capsys, *sizes, *NET, *options, "--alpha", "0.3")
    expected = predict_error(
        1 / 2, 2 / 3, CentredReLU(), Teacher.single((0.0, 1.0, 0.5**0.5), 0.5),
        n=2400, alpha=0.3, penalty=0.05, residual="y - f0",
    )  # fmt: skip
    (one,) = found["predictions"]
    for name in ("errors", "limit", "random_features"):
        assert one[name] == {k: float(v) for k, v in vars(getattr(expected, name)).items()}
    for name in ("alpha", "eta", "best_linear", "degree", "alignment", "regime"):
        assert one[name] == getattr(expected, name)
    ratio = float(expected.errors.test_error / expected.random_features.test_error)
    assert one["gain_percent"] == pytest.approx(100 * (1 - ratio))
    assert (found["n"], found["inputs"], found["noise"]) == (2400, 1200, 0.5)
    assert found["linear_share"] == pytest.approx(1 / 2.25)


def test_sizes_are_ratios_and_a_step_size_an_exponent(capsys):
    sizes = ("--rows", 100, "--inputs", 50, "--width", 75)
    first = record(capsys, *sizes, *NET, *REUSED, "--eta", "0,2")
    second = record(capsys, *SIZES, "--n", 100, *NET, *REUSED, "--alpha", math.log(2, 100))
    assert first["predictions"][1]["errors"] == pytest.approx(second["predictions"][0]["errors"])
    none = first["predictions"][0]
    assert (none["eta"], none["alpha"]) == (0, None)
    assert none["errors"] == none["random_features"]


def test_csv_has_a_row_for_each_step_and_nothing_where_nothing_is_known(capsys):
    shown = well(capsys, "predict-error", *SIZES, *NET, *REUSED, "--alpha=-.1:.5:4", "--format=csv")
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert [float(row["alpha"]) for row in rows] == pytest.approx([-0.1, 0.1, 0.3, 0.5])
    assert [row["degree"] for row in rows] == ["0.0", "1.0", "2.0", ""]
    assert float(rows[1]["test_error"]) < float(rows[0]["random_features_test_error"])
    assert float(rows[2]["test_error"]) < float(rows[1]["test_error"])
    assert rows[2]["limit_test_error"] == ""
    assert "The limit is known for one column" in rows[2]["regime"]
    assert rows[3]["test_error"] == rows[3]["limit_test_error"] == rows[3]["gain_percent"] == ""
    assert "derived for alpha < 1/2" in rows[3]["regime"]


def test_what_is_not_known_is_a_dash_with_its_reason(capsys):
    shown = said(capsys, *SIZES, *NET, *REUSED, "--alpha", "0.5,.6")
    assert "0.5 49 – – – – – –" in shown
    assert shown.count("leaves their bulk") == 1
    assert "No test error is predicted" in shown
    found = record(capsys, *SIZES, *NET, *REUSED, "--alpha", "0.5")["predictions"][0]
    assert (found["errors"]["test_error"], found["gain_percent"]) == (None, None)


def test_of_several_steps_the_best_is_named_and_sentences_come_once(capsys):
    shown = said(capsys, *SIZES, *NET, "--alpha", "0,0.1,0.25")
    assert "Of these steps eta = 7 (alpha = 0.25) is predicted to be the best" in shown
    assert "alpha = 0 and 0.25: an edge, where the number of columns changes" in shown
    assert shown.count("column has no penalty") == 1


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (
            "centred_relu --teacher 0,1 --alpha -1",
            "less than 1 %: random features, without a step,",
        ),
        ("centred_relu --teacher He3(x1) --alpha 0.42", "leave the first layer as it is"),
        ("polynomial:0,0,1 --teacher 1,0,1 --alpha 0", "(2.000)"),
        ("sine --teacher 0,1,1 --phi 0.01 --psi 0.1 --alpha 0.4", "no linear model does as well"),
        ("tanh --teacher 0,1 --sample reused --alpha 0.6", "smaller one, or new rows (--sample"),
        (
            "polynomial:-0.5,0,0.5 --teacher 0,1 --sample reused --alpha 0.2",
            "predicted at any step",
        ),
    ],
)
def test_the_advice_follows_the_prediction(capsys, words, advice):
    assert advice in said(capsys, *SIZES, "--activation", *words.split())


def test_a_target_without_a_linear_part_is_said_alike_in_every_sentence(capsys):
    net = ("--activation", "centred_relu", "--teacher", "x1^3-3*x1", "--alpha", 0.2)
    shown = said(capsys, *SIZES, *net)
    assert "the column X beta, beta its direction, which is noise here, of each" in shown
    assert "(6.000), which is the mean of y" in shown
    assert "a linear fit comes near" not in shown


def test_no_step_is_none(capsys):
    shown = said(capsys, *SIZES, *NET, "--eta", 0)
    assert "no step 0 0.478" in shown
    assert "eta = 0: no step is taken, and the features are random." in shown
    assert "No step is taken: give an eta above 0" in shown
    assert "have |cos| = " not in shown
    (row,) = csv.DictReader(
        io.StringIO(well(capsys, "predict-error", *SIZES, *NET, "--eta", 0, "--format", "csv"))
    )
    assert row["alpha"] == row["alignment"] == ""
    shown = said(capsys, *SIZES, *NET, *REUSED, "--eta", "0,4")
    assert "Of these steps eta = 4" in shown
    assert "have |cos| = " in shown


def test_the_figure_is_a_file_beside_the_numbers(capsys, folder, monkeypatch):
    monkeypatch.setattr(printing, "CURVE_POINTS", 2)
    words = (*SIZES, *NET, *REUSED, "--alpha", 0.2, "--figure")
    assert record(capsys, *words, "a.svg")["n"] == 2400
    assert (folder / "a.svg").read_text().startswith("<?xml")
    monkeypatch.setattr(printing, "_draw", lambda *_: None)
    assert "Figure: b.png" in said(capsys, *words, "b.png")


def test_the_curves_are_the_predictions():
    net = (0.5, 2 / 3, CentredReLU(), SETTINGS["setting-2"])
    alphas = [-0.1, 0.1, 0.2, 0.5]
    curve = [predict_error(*net, n=2400, alpha=alpha, sample="reused") for alpha in alphas]
    ax = step_errors(curve, curve[:1], n=2400)
    drawn = [np.asarray(line.get_xydata()).tolist() for line in ax.lines]
    tests = [float(one.errors.test_error) for one in curve]
    assert drawn[0][:3] == [[a, e] for a, e in zip(alphas[:3], tests[:3], strict=True)]
    stair = float(curve[1].limit.test_error)
    assert [[0.0, stair], [0.25, stair]] in drawn
    assert [[-0.1, tests[0]]] in drawn
    legend = ax.get_legend()
    assert legend is not None
    assert "at n = 2,400" in [text.get_text() for text in legend.get_texts()]
    with pytest.raises(ValueError, match="give one at least"):
        step_errors([], n=2400)


def test_the_options_are_those_of_the_theory(capsys):
    shown = " ".join(
        re.sub("[│╭╮╰╯─]", " ", gradfeat(capsys, "predict-error", "--help").out).split()
    )
    assert ", ".join(NAMES) in shown
    assert abs(activation("sine").hermite_coefficients(0)[0]) < 1e-12  # rounding of quadrature
    assert [activation(name).name for name in NAMES] == list(NAMES)


def test_ranges_hold_their_ends():
    # linspace: rounding of one part in 2^52
    assert numbers("--alpha", "0:0.45:10") == pytest.approx(
        [0.05 * k for k in range(10)], rel=1e-15
    )
    assert numbers("--alpha", "1/4, .5") == [0.25, 0.5]


BAD = [
    ("--alpha nan", "--alpha has 'nan'"),
    ("--alpha 0.1,x", "--alpha has 'x'"),
    ("--alpha 1/0", "--alpha has '1/0'"),
    ("--alpha 0:1", "FIRST:LAST:COUNT"),
    ("--alpha 0:1:1", "give 2 to 200"),
    ("--alpha 0:1:9000", "give 2 to 200"),
    ("--alpha 3", "at most 1"),
    ("--eta -1", "0 or more"),
    ("--eta 1e300", "at most 1"),
    ("--alpha 0.1 --eta 2", "one of --alpha"),
    ("", "one of --alpha"),
    ("--alpha 0.1 --phi 0", "--phi is 0"),
    ("--alpha 0.1 --psi -1", "--psi is -1"),
    ("--alpha 0.1 --phi inf", "--phi has 'inf'"),
    ("--alpha 0.1 --phi 1e-3 --psi 1e300", "cannot be solved"),
    ("--alpha 0.1 --phi 1e-300 --psi 1e300", "more than its inputs"),
    ("--alpha 0.1 --rows 100", "mixed"),
    ("--alpha 0.1 --n 1", "--n is 1"),
    ("--alpha 0.1 --penalty 0", "above 0"),
    ("--alpha 0.1 --penalty nan", "above 0"),
    ("--alpha 0.1 --noise -1", "--noise is -1: give a standard deviation"),
    ("--alpha 0.1 --noise nan", "--noise is nan: give a standard deviation"),
    ("--alpha 0.1 --residual z", "'y - f0'"),
    ("--alpha 0.1 --sample z", "'fresh'"),
    ("--alpha 0.1 --format z", "'csv'"),
    ("--alpha 0.1 --teacher x", "Hermite coefficients"),
    ("--alpha 0.1 --teacher ,", "--teacher has ''"),
    ("--alpha 0.1 --teacher 2x1+x2", "no * in '2x1'"),
    ("--alpha 0.1 --teacher He2(x1)+", "what cannot be read"),
    ("--alpha 0.1 --teacher=", "the value of --teacher is empty"),
    ("--alpha 0.1 --teacher setting-3", "setting-1, setting-2"),
    ("--alpha 0.1 --teacher 0,0", "E y^2 is 0"),
    ("--alpha 0.1 --teacher 0,1e200", "E y^2 is inf"),
    ("--alpha 0.1 --activation relu --teacher 1", "Nothing of y is left"),
    ("--alpha 0.1 --activation rellu", "did you mean 'relu'"),
    ("--alpha 0.1 --activation sin", "sine stands for sin z - cos z + e^-1/2."),
    ("--alpha 0.1 --activation polynomial:0,x", "--activation has 'x'"),
    ("--alpha 0.1 --activation polynomial:1", "no features"),
    ("--alpha 0.1 --figure no/a.png", "in none that exists"),
    ("--alpha 0.1 --figure a.jpg", ".svg"),
]


@pytest.mark.parametrize(("options", "words"), BAD)
def test_bad_words_are_one_sentence(capsys, folder, options, words):
    assert words in refused(capsys, "predict-error", *SIZES, *NET, *options.split())
    assert list(folder.iterdir()) == []


def test_half_of_the_sizes_and_a_random_mean_are_refused(capsys):
    half = ("--rows", 100, "--inputs", 50)
    assert "not all there" in refused(capsys, "predict-error", *half, *NET, "--alpha", "0.1")
    relu = ("--activation", "relu", "--teacher", "0,1", "--residual", "y - f0", "--alpha", "0.1")
    assert "centre the activation" in refused(capsys, "predict-error", *SIZES, *relu)


def test_more_directions_than_inputs_are_refused(capsys):
    sizes = ("--rows", 100, "--inputs", 1, "--width", 30, "--alpha", 0.2)
    told = refused(capsys, "predict-error", *sizes, "--activation", "tanh", "--teacher", "x1*x2")
    assert "directions (2) are more than its inputs (1)" in told


def test_rows_of_the_gradient_may_be_counted_apart(capsys):
    sizes = ("--rows", 600, "--inputs", 200, "--width", 200, "--eta", 20)
    net = ("--activation", "tanh", "--teacher", "x1", "--head", "ones")
    shown = said(capsys, *sizes, *net, "--gradient-rows", 4_000)
    assert "one gradient step of size eta = n^alpha on 4,000 rows" in shown
    assert "ridge, lambda = 0.01, on 600 new rows" in shown
    assert "entries of the first head all alike" in shown
    few, many = (
        record(capsys, *sizes, *net, "--gradient-rows", rows)["predictions"][0]
        for rows in (150, 4_000)
    )
    assert few["errors"]["test_error"] > 2 * many["errors"]["test_error"]
    assert few["alignment"] < many["alignment"]
    for words in ((*REUSED, "--gradient-rows", 100), ("--gradient-rows", 1), (*REUSED,),
                  ("--residual", "y - f0")):  # fmt: skip
        refused(capsys, "predict-error", *sizes, *net, *words)
