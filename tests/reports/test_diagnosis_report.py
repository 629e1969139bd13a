"""The diagnosis as page and terminal text: complete, escaped, true."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from gradfeat.reports import diagnosis_text
from gradfeat.reports.diagnosis import advice, answer
from gradfeat.table.diagnosis import Share
from gradfeat.table.results import Interval
from reports import pages
from reports.diagnosis_factory import DIAGNOSES, bikes
from reports.factory import HOSTILE
from reports.pages import Page


def page_of(name: str) -> Page:
    return pages.page_of(f"diagnosis of {name}")


def printed(name: str) -> str:
    console = Console(file=StringIO(), width=80, highlight=False)
    console.print(diagnosis_text(DIAGNOSES[name]))
    return console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("name", DIAGNOSES)
class TestEveryDiagnosis:
    def test_every_figure_is_there(self, name):
        svgs = page_of(name).all("svg")
        assert len(svgs) == 3 + min(4, DIAGNOSES[name].directions.number)

    def test_page_and_terminal_say_the_same(self, name):
        found = DIAGNOSES[name]
        for words in (answer(found), advice(found)):
            assert pages.squeezed(words) in page_of(name).text
            if name != "hostile":
                assert pages.squeezed(words) in " ".join(printed(name).split())

    def test_the_terminal_fits(self, name):
        assert all(len(line) <= 80 for line in printed(name).splitlines())


def test_hostile_words_are_text():
    assert HOSTILE.split("$")[0] not in pages.source("diagnosis of hostile")
    assert "&lt;script&gt;" in pages.source("diagnosis of hostile")
    assert "49" not in re.findall(r"\{\{.*?\}\}|49 --", pages.source("diagnosis of hostile"))


def test_noise_is_called_no_evidence():
    words = answer(DIAGNOSES["noise"])
    assert words.startswith("There is no evidence of a signal about log_bikers")
    assert "none of the models does better" in words
    assert "no evidence" in printed("noise")
    assert "−1" not in printed("noise"), "shares below zero are noise around none"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "bikes",
            "linear (information exponent 1), so the first gradient step of a network is inf",
        ),
        ("bikes", "a linear model explains 51 %, quadratic terms add 11 % and a flexible model"),
        ("cubic", "cubic (information exponent 3), so the first gradient step of a network is not"),
        ("cubic", "d^3 = 13,824; here 8,645"),
        ("transformed", "(information exponent 3), but a non-linear function of log_bikers would"),
        ("transformed", "show one at degree 1 (generative exponent 1), so a first gradient step"),
        ("transformed", "methods that go over the same rows many times, such as a trained network"),
        ("linear", "a linear model may do as well"),
        ("narrow", "1 direction stands out of 1 input;"),
        ("cubic", "only with many more rows"),
        ("bikes", "There is more than a linear model can say"),
    ],
)
def test_the_words_follow_the_numbers(name, said):
    found = DIAGNOSES[name]
    assert said in f"{answer(found)} {advice(found)}"


def test_a_cubic_signal_with_rows_enough_is_not_called_hopeless():
    few = replace(DIAGNOSES["cubic"], n_inputs=5)  # 5^3 = 125 rows by theory, 8,645 are there
    words = f"{answer(few)} {advice(few)}"
    assert "leading terms of a network's first gradient have nothing to follow" in words
    assert (
        "rows enough for one gradient step to see the signal (theory: of the order of d^3" in words
    )
    assert "only with" not in words
    # it said that a step sees little of it, whatever the rows, where a function of y shows more
    also = replace(few, generative=1)
    assert "sees it by its further terms with so many rows" in answer(also)
    assert "sees little" not in answer(also)
    assert "rows enough for one gradient step" in advice(also)


def test_shares_end_at_all_of_the_variance():
    """It said that a flexible model adds 68 % to 109 % of the variance."""
    found = DIAGNOSES["cubic"]
    parts = [replace(p, share=Interval(0.9, 0.68, 1.09), found=True) for p in found.shares.parts]
    wide = replace(found, shares=replace(found.shares, parts=tuple(parts)))
    assert "adds 68 % to 100 % of the variance" in answer(wide)


def test_a_degree_that_no_model_could_use_is_not_called_linear():
    seen = replace(DIAGNOSES["bikes"], shares=DIAGNOSES["noise"].shares)
    assert "There is more than the linear part, and none of the models fitted here" in advice(seen)


def test_a_share_of_a_percent_is_not_advised_like_one_of_a_quarter():
    bikes = DIAGNOSES["bikes"]
    linear, quadratic, _ = bikes.shares.parts
    least = Share("higher", Interval(0.007, 0.001, 0.013), True)
    parts = (linear, replace(quadratic, share=Interval(0.0, -0.01, 0.01), found=False), least)
    words = advice(replace(bikes, shares=replace(bikes.shares, parts=parts)))
    assert "Beyond the linear part the models find <1 % of the variance" in words
    assert "worth trying" not in words


def test_what_was_left_out_stands_in_the_terminal():
    assert "5,000 of 8,645 rows used" in " ".join(printed("bikes").split())


def test_rows_are_compared_with_those_that_theory_asks_for():
    text = page_of("bikes").text
    assert "enough" in text
    assert "too few: 8,645" in text
    assert "How many rows theory asks for" not in page_of("noise").text


def test_degrees_whose_tensors_are_too_large_are_said():
    assert "Degree 3 has a signal, but too many products" in page_of("cubic").text


def test_informative_is_exponent_one_or_two():
    assert bikes().informative
    assert not DIAGNOSES["cubic"].informative
    assert not DIAGNOSES["noise"].informative


def test_functions_of_a_target_without_a_degree_of_its_own_are_told():
    found = replace(DIAGNOSES["transformed"], exponent=None)
    assert "in 5,000 rows, but a non-linear function of log_bikers would show one" in answer(found)
    assert "nothing to follow, and steps that use the same rows again can" in answer(found)
    assert "linear, transformed" in printed("transformed")
    assert "linear, transformed" in page_of("transformed").text


def test_the_spread_of_a_target_is_no_signal_to_predict_it_by():
    """Noise that is larger for some rows was called a signal that a trained network may find."""
    words = f"{answer(DIAGNOSES['spread'])} {advice(DIAGNOSES['spread'])}"
    assert "on the inputs is the spread of log_bikers, which moves with hr and temp, and" in words
    assert "no signal to predict log_bikers by: log_bikers lies further from its median" in words
    assert "network, may" not in words
    assert "steps that use" not in words
    shape = replace(DIAGNOSES["spread"], spread=())
    assert "is the shape of the distribution of log_bikers" in answer(shape)
    assert "the distribution of log_bikers changes with the inputs" in advice(shape)


def test_remarks_stand_before_the_answer_and_behind_it():
    found = bikes()
    first, last = (remark.text for remark in found.remarks)
    for text in (" ".join(printed("bikes").split()), page_of("bikes").text):
        parts = [pages.squeezed(part) for part in (first, answer(found), last)]
        assert sorted(parts, key=text.index) == parts
