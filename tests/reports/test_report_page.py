"""The page of a comparison is true to its report, and text that users choose stays text."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from gradfeat.figures.comparison import span
from gradfeat.reports.fit import contents
from gradfeat.reports.words import answer as answer_of
from gradfeat.table.results import Remark
from gradfeat.wording import number, percent
from reports.factory import HOSTILE, METHODS, VARIANTS, regression
from reports.pages import each, page_of, parse, plain, render, source, squeezed, words


@pytest.mark.parametrize("name", each(VARIANTS))
class TestEveryReport:
    def test_every_column_and_class_is_named_in_full(self, name):
        report = VARIANTS[name]
        for text in (*(c.name for c in report.columns), *report.classes, report.target):
            assert squeezed(text) in page_of(name).text

    def test_every_method_has_its_scores_or_its_failure(self, name):
        text = page_of(name).text
        for method in VARIANTS[name].methods:
            assert squeezed(method.label) in text
            assert method.error in text
            for value in method.scores.values():
                assert f"{number(value.estimate)} {span(value)}".strip() in text

    def test_how_to_repeat_it(self, name):
        report, text = VARIANTS[name], page_of(name).text
        assert squeezed(report.command) in text
        assert f"Seed {report.seed}." in text
        for package, version in report.versions.items():
            assert f"{package} {version}" in text
        for remark in report.remarks:
            assert squeezed(remark.text) in text


@pytest.mark.parametrize("name", ["hostile", "hostile-classes"])
def test_what_users_name_is_text(name):
    page = page_of(name)
    assert page.all("script") == []
    assert squeezed(HOSTILE) in page.text  # in particular {{ 7*7 }} is not computed
    assert "\x07" not in source(name)
    # in the figures too: names that are drawn are text elements
    assert page.text.count("<script>") > 15


def test_a_name_with_blanks_is_one_word_of_commands_and_a_question_ends_once():
    text = words(replace(VARIANTS["regression"], target="rude on a plane?"))
    assert "gradfeat diagnose DATA --target 'rude on a plane?'" in text
    assert "What predicts rude on a plane?" in text.replace("? ", "?")
    assert "??" not in text.replace(" ", "")


def test_methods_that_failed_alike_share_a_sentence_and_long_remarks_are_folded():
    report = VARIANTS["regression"]
    lost = [replace(one, scores={}, error="no time was left") for one in report.methods[3:]]
    remark = Remark("Taken as missing: " + "2 cells of 'a' that are no number; " * 30)
    html = plain(replace(report, methods=(*report.methods[:3], *lost), remarks=(remark,)))
    assert parse(html).text.count("no time was left") == 1
    shown, more = html.split("<details><summary>and more</summary>2 cells")
    assert shown.count("2 cells of") + 1 + more.count("2 cells of") == 30


def test_a_lone_surrogate_and_other_scripts_can_be_written():
    report = regression(50)
    names = ("\ud800", "温度", "ρ", *report.directions.columns[3:])
    found = replace(report.directions, columns=names)
    html = render(replace(report, target="自転車", directions=found))
    assert "温度" in parse(html).text
    html.encode("utf-8")


def test_twenty_thousand_test_rows_stay_small():
    assert len(source("large").encode()) < 2_000_000
    assert "3,000 of 20,000 drawn" in page_of("large").text


def test_the_answer_names_verdict_best_method_and_columns():
    report, text = VARIANTS["regression"], page_of("regression").text
    sentence = report.verdict.sentence.rstrip(".")
    assert text.count(sentence) == 1
    assert "Does learning features help?" not in text
    best = "Gradient-boosted trees predicts log1p(bikers) best, with test R2 0.944 (95 % interval"
    assert text.index(best) < text.index(f"). {sentence}. ")
    needs = "Recursive feature machine needs hr most: shuffled, R2 falls by 0.800, then temp with"
    assert needs in text


def test_numbers_of_the_directions():
    report, text = VARIANTS["regression"], page_of("regression").text
    found = report.directions
    assert "left of the orange line, is 3 (95 % interval 2 to 3)" in text
    assert f"The first direction carries {percent(found.eigenvalues[0])}" in text
    for column, share in zip(found.columns, found.importances, strict=True):
        assert re.search(rf"{column} (number|category|yes/no) .*?{percent(share)}", text)


def test_a_model_of_fixed_features_is_not_said_to_learn_them():
    report = regression(50)
    fixed = next(m.name for m in report.methods if m.family == "fixed")
    told = "with learned features: it was asked"
    assert told in words(report)
    other = replace(report, directions=replace(report.directions, method=fixed))
    assert told not in words(other)
    assert "the best model of gradfeat" in words(other)


def test_numbers_of_the_predictions():
    report, text = VARIANTS["regression"], page_of("regression").text
    error = np.median(np.abs(report.y_true - report.y_pred))
    assert f"half of all rows are predicted to within {number(error)}" in text
    report, text = VARIANTS["twelve"], page_of("twelve").text
    right = np.mean(report.y_true == report.y_pred)
    assert f"is right in {percent(right)} of 2,400 test rows" in text


def test_the_matrix_in_full_up_to_twenty_classes_and_the_worst_pairs_beyond():
    assert "All counts and row percentages" in page_of("twelve").text
    assert "The most frequent confusions among 40 classes" in page_of("forty").text
    report = VARIANTS["forty"]
    wrong = report.y_true != report.y_pred
    pairs = list(zip(report.y_true[wrong], report.y_pred[wrong], strict=True))
    worst = max(set(pairs), key=lambda pair: (pairs.count(pair), pair))
    truth, taken = (report.classes[code] for code in worst)
    assert f"{truth} {taken} {pairs.count(worst)} " in page_of("forty").text


def test_best_method_comes_first_in_the_table():
    text = page_of("regression").text
    table = text[text.index("Scores with 95 %") :]
    places = [table.index(label) for _, label, *_ in sorted(METHODS, key=lambda m: -m[3])]
    assert places == sorted(places)


def test_parts_without_content_are_left_out():
    assert "Where the slope of the learned function is" not in page_of("bare").text
    assert "Where the slope of the learned function is" in page_of("regression").text
    assert len(page_of("all-failed").all("svg")) == 0
    assert len(page_of("one-column").all("svg")) == 9  # one direction, no plane, one first step
    assert len(page_of("regression").all("svg")) == 13  # three directions, two of a first step


def test_what_a_first_step_finds_stands_beside_what_training_finds():
    report, text = VARIANTS["regression"], page_of("regression").text
    assert "What a first gradient step would find" in text
    assert "would find 2 directions: mainly hr" in text
    mass = report.first_step.mass[1]
    assert f"{percent(mass.estimate)} of random neurons point along it (95 % interval" in text
    own, others = text.index("Induced network, whose neurons read these directions"), "step by step"
    assert "test R2 0.570" in text[own : own + 120]
    assert text[text.index(others) :].startswith(
        "step by step: Recursive feature machine R2 0.931 (95 % interval"
    )


def test_a_first_step_that_finds_nothing_says_so_without_figures():
    text = page_of("three").text
    assert "A first gradient step would find no direction: none is shared by at least 2 %" in text
    assert "no direction to read and so is constant: test accuracy" in text
    assert "Where the first gradients point" not in text


def test_many_directions_of_a_first_step_are_counted():
    text = page_of("twelve").text
    assert "would find 12 directions: " in text
    assert "; and 9 more." in text
    assert "Where the first gradients point (the first 8 of 12)" in text
    assert "What a first gradient step" not in page_of("bare").text


def test_a_direction_of_many_columns_is_not_called_mainly_that_of_three():
    found = VARIANTS["regression"].first_step
    even = replace(found, folded=np.full(found.folded.shape, len(found.columns) ** -0.5))
    text = words(replace(VARIANTS["tiny"], first_step=even))
    assert "2 directions: spread over many columns, led by hr, temp and atemp; spread" in text


def test_every_pass_over_streamed_rows_is_told():
    text = page_of("streamed").text
    assert "not held in memory but streamed in 8 pieces by 2 threads <b>: 1 pass in 1.60 s" in text
    assert "Preparing: rows and target 8,000 1.60 s 5,000" in text
    assert "AGOP as found before – –" in text
    assert "as in a sample of 500 training rows" in text
    assert "streamed" not in page_of("bare").text


def test_the_page_begins_with_what_a_direction_is_and_ends_with_what_next():
    text = page_of("regression").text
    assert text.index("A direction is a weighted sum") < text.index("How the methods compare")
    last = text[text.index("What next") :]
    for told in ("gradfeat predict FOLDER NEW.csv", "gradfeat.load", "gradfeat diagnose DATA"):
        assert told in last


@pytest.mark.parametrize("name", ["three", "regression"])
def test_figures_take_the_colours_of_the_page(name):
    html = source(name)
    drawn = "".join(re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL))
    for name, color in (("ink", "#1f2430"), ("panel", "#ffffff"), ("blue", "#0072b2")):
        assert f"var(--{name}, {color})" in drawn
        assert f"--{name}:" in html
    assert not re.search(r"(?:fill|stroke): #", drawn)
    texts = re.findall("<text[^>]*>", drawn)
    assert [text for text in texts if "fill: var(--" not in text] == []


def test_shares_of_first_gradients_of_classes_add_to_at_most_one():
    report = VARIANTS["regression"]
    step = replace(report.first_step, outputs=3)
    text = words(replace(report, first_step=step))
    assert "of first gradients point along it" in text
    assert "for each of 3 classes" in text
    assert "of random neurons" not in text.split("What the words mean")[0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("yes", "Learned features helped"),
        ("no", "Fixed features did better"),
        ("same", "predict alike here"),
        ("unclear", "is open: more test rows decide it"),
    ],
)
def test_what_next_follows_from_the_verdict(answer, words):
    report = VARIANTS["regression"]
    verdict = replace(report.verdict, answer=answer)
    foot = contents(replace(report, verdict=verdict))["follows"]
    assert words in str(foot)
    assert ("more test rows" in str(foot)) == (answer == "unclear")
    assert contents(VARIANTS["bare"])["follows"] == ""


def test_accuracy_stands_beside_what_the_most_frequent_class_gives():
    report = VARIANTS["three"]
    rows = np.bincount(report.y_true, minlength=3)
    top = report.classes[rows.argmax()]
    text = page_of("three").text
    assert f"Always '{top}' would be right in {percent(rows.max() / rows.sum())}" in text
    right = [(report.y_pred[report.y_true == k] == k).mean() for k in range(3)]
    assert f"of what is right by class, is {number(float(np.mean(right)))}." in text
    pred = np.where(report.y_pred == 1, 0, report.y_pred)
    assert "'Chinstrap' is never predicted" in answer_of(replace(report, y_pred=pred))
