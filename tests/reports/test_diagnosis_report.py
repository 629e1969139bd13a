"""The diagnosis as page and terminal text: complete, escaped, true, the same every time."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from io import StringIO
from itertools import pairwise

import pytest
from rich.console import Console

from gradfeat.reports import diagnosis_text, render_diagnosis
from gradfeat.reports.diagnosis_words import advice, answer
from reports.diagnosis_factory import DIAGNOSES, bikes
from reports.factory import HOSTILE
from reports.pages import Page, parse


@cache
def source(name: str) -> str:
    return render_diagnosis(DIAGNOSES[name])


@cache
def page_of(name: str) -> Page:
    return parse(source(name))


def printed(name: str) -> str:
    console = Console(file=StringIO(), width=80, highlight=False)
    console.print(diagnosis_text(DIAGNOSES[name]))
    return console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("name", DIAGNOSES)
class TestEveryDiagnosis:
    def test_the_page_is_whole_and_loads_nothing(self, name):
        page = page_of(name)
        assert page.crossed == page.open == []
        assert not {"script", "link", "iframe", "object", "embed"} & {tag for tag, _ in page.tags}
        assert not re.search(r"@import|url\((?!#)|https?://", source(name))
        assert not [k for _, attrs in page.tags for k in attrs if k.startswith("on")]

    def test_ids_are_unique_and_headings_descend(self, name):
        page = page_of(name)
        ids = [attrs["id"] for _, attrs in page.tags if attrs.get("id")]
        assert len(ids) == len(set(ids))
        levels = [int(t[1]) for t, _ in page.tags if re.fullmatch(r"h[1-6]", t)]
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in pairwise(levels))

    def test_every_figure_has_a_text(self, name):
        svgs = page_of(name).all("svg")
        assert len(svgs) == 3 + min(4, DIAGNOSES[name].directions.number)
        assert all(attrs["aria-label"] for attrs in svgs)

    def test_the_same_diagnosis_gives_the_same_page(self, name):
        assert render_diagnosis(DIAGNOSES[name]) == source(name)

    def test_page_and_terminal_say_the_same(self, name):
        found = DIAGNOSES[name]
        for words in (answer(found), advice(found)):
            squeezed = " ".join(words.replace("\x07", "\ufffd").split())
            assert squeezed in page_of(name).text
            if name != "hostile":
                assert squeezed in " ".join(printed(name).split())

    def test_the_terminal_fits(self, name):
        assert all(len(line) <= 80 for line in printed(name).splitlines())


def test_hostile_words_are_text():
    assert HOSTILE.split("$")[0] not in source("hostile")
    assert "&lt;script&gt;" in source("hostile")
    assert "49" not in re.findall(r"\{\{.*?\}\}|49 --", source("hostile"))


def test_noise_is_called_no_evidence():
    words = answer(DIAGNOSES["noise"])
    assert words.startswith("There is no evidence of a signal about log_bikers")
    assert "none of the models explains" in words
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


def test_a_degree_that_no_model_could_use_is_not_called_linear():
    seen = replace(DIAGNOSES["bikes"], shares=DIAGNOSES["noise"].shares)
    assert "There is more than the linear part, and no model could use it" in advice(seen)


def test_what_was_left_out_stands_in_the_terminal():
    assert "The tests read 5,000 of the 8,645 rows" in " ".join(printed("bikes").split())


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
