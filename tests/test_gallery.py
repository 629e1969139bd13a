"""The gallery: what is stored belongs to the code beside it, or its page says that it is older."""

from __future__ import annotations

import dataclasses
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gradfeat.lab.loading import experiment, names

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "docs" / "_extensions"), str(ROOT / "tools")]

import api_pages  # noqa: E402
import commands  # noqa: E402
import examples_page  # noqa: E402
import experiments_page  # noqa: E402
import results  # noqa: E402
import stored_results  # noqa: E402


@pytest.mark.parametrize("name", names())
def test_every_experiment_has_results_of_today_or_says_that_they_are_older(name):
    found, stored = experiment(name), stored_results.facts(name)
    if stored is None:
        pytest.skip("no results are stored yet")
    assert stored["failed"] == 0
    page = experiments_page._page(found)
    assert ("Older results" in page) == experiments_page.older(found, stored)
    assert f"stored/{name}.png" in page
    assert f"stored/{name}.csv" in page
    assert ("In the talks" in page) == (name in stored_results.slides())


def test_a_changed_trial_and_a_changed_claim_are_told():
    found = experiment("shi22-occlusion")
    (check, *_) = found.checks.values()
    other = dataclasses.replace(found, checks={"Another sentence. [Shi22]": check})
    page = experiments_page._page(other)
    stored = stored_results.facts(found.name) or {}
    for other in ({"text": "another"}, {"results": 1}):
        assert "Older results" in "".join(experiments_page._stored(found, {**stored, **other}))
    assert "| 1 | Another sentence. | not judged |" in page


@pytest.mark.parametrize("name", results.examples())
def test_what_an_example_printed_is_of_the_script_that_is_shown(name):
    script = (results.EXAMPLES / f"{name.replace('-', '_')}.py").read_text("utf-8")
    stored = stored_results.facts(name)
    assert stored is not None
    assert stored["text"] == results.digest(script), f"run: python tools/results.py {name}"
    assert stored["printed"].strip() in examples_page._page(name, script)
    assert ("figure.png" in script) == (stored_results.STORED / f"{name}.png").is_file()


def test_nothing_is_stored_of_what_is_gone():
    stored = {path.stem for path in stored_results.STORED.iterdir()}
    assert stored <= {*names(), *results.examples()}


@pytest.mark.slow
@pytest.mark.parametrize("name", results.examples())
def test_an_example_prints_what_is_stored_but_for_numbers(name):
    stored = stored_results.facts(name)
    assert stored is not None
    assert commands.same(results.outcome_of(name)[0], stored["printed"])


@pytest.mark.parametrize(
    "module",
    [f"{api_pages.PLACES[of]}.{m}" for of in api_pages.PLACES for m in api_pages.MODULES[of]],
)
def test_every_module_of_the_reference_is_there(module: str):
    assert import_module(module).__doc__
