"""The explorer: its numbers are those of `gradfeat.theory`; each control moves what it says."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "docs" / "_extensions"), str(ROOT / "tools")]

import explorer_data  # noqa: E402
import explorer_page  # noqa: E402

from gradfeat.theory.feature_resolvent import FeatureLimit  # noqa: E402

DATA = json.loads((explorer_page.FOLDER / "data.json").read_text("utf-8"))
CHROMIUM = shutil.which("chromium")
#: Of cells: a few, spread over the grid.
CELLS = [
    {"c1": 1.0, "c2": 0.5, "c3": 0.4, "activation": "tanh", "phi": 0.25, "psi": 0.5, "alpha": 0.3},
    {"c1": 0.5, "c2": 0.0, "c3": 0.0, "activation": "sine", "phi": 0.5, "psi": 1.0, "alpha": 0.45},
]


def numbers(values: list[float], axes: tuple[str, ...], cell: dict, many: int) -> list[float]:
    """The numbers of a cell, as the page looks them up."""
    place = 0
    for name in axes:
        place = place * len(DATA["axes"][name]) + DATA["axes"][name].index(cell[name])
    return values[place * many : (place + 1) * many]


def test_the_grid_is_that_of_the_script():
    assert DATA["axes"] == explorer_data.AXES
    assert DATA["rows"] == explorer_data.N_ROWS
    sizes = [len(values) for name, values in DATA["axes"].items() if name != "lambda"]
    assert len(DATA["spectra"]["values"]) == np.prod(sizes) * (3 + DATA["outliers"])
    assert len(DATA["errors"]["stepped"]) == np.prod([len(v) for v in DATA["axes"].values()])


@pytest.mark.parametrize("cell", CELLS)
def test_spectra_are_those_of_theory(cell):
    axes = ("c1", "c2", "c3", *explorer_data.SIZES, "alpha")
    stored = numbers(DATA["spectra"]["values"], axes, cell, 6)
    np.testing.assert_allclose(stored, explorer_data.spectrum_of(cell), rtol=1e-3)  # four digits


def test_as_many_outliers_are_counted_as_theory_has_between_the_grid():
    cells = explorer_data.cells("c1", "c2", "c3", *explorer_data.SIZES)
    counts, seen = DATA["spectra"]["counts"], []
    assert {len(one) for one in counts} == {46}
    for place in np.random.default_rng(0).choice(len(cells), 8, replace=False):
        for alpha in (0.13, 0.33, 0.34):
            found = explorer_data.outliers(
                explorer_data.spectrum_of({**cells[place], "alpha": alpha})
            )
            assert int(counts[place][round(100 * alpha)]) == found
            seen.append(found)
    assert len(set(seen)) > 1


def test_neurons_near_a_star_are_so_among_the_inputs():
    (run,) = (one for one in DATA["neurons"] if one["words"] == "patterns with structure")
    assert run["cosines"][0] < 0.1  # random neurons in 200 dimensions; in the plane of the map .71
    assert run["cosines"][-1] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_errors_are_those_of_theory(cell):
    axes = ("c1", "c2", "c3", *explorer_data.SIZES, "lambda")
    cell = {**cell, "lambda": 0.1}
    stored = numbers(DATA["errors"]["stepped"], axes, cell, len(DATA["axes"]["alpha"]))
    stepped, fixed = explorer_data.errors_of(cell)
    np.testing.assert_allclose(stored, stepped, atol=1e-4)  # four decimals
    np.testing.assert_allclose(numbers(DATA["errors"]["fixed"], axes, cell, 1), fixed, atol=1e-4)


def test_simulated_errors_lie_at_theory():
    """d of 100 moves errors by up to 1/sqrt d = 10 %, three draws of heavy tails by 8 % (s.e.)."""
    where = {**DATA["simulations"]["target"], "lambda": 0.1}
    which = DATA["axes"]["lambda"].index(0.1)
    rows = iter(DATA["simulations"]["rows"])
    axes, apart = ("c1", "c2", "c3", *explorer_data.SIZES, "lambda"), []
    for cell in explorer_data.cells(*explorer_data.SIZES):
        theory = numbers(DATA["errors"]["stepped"], axes, {**where, **cell}, 10)
        for alpha in DATA["simulations"]["alphas"]:
            predicted = theory[DATA["axes"]["alpha"].index(alpha)]
            apart.append(next(rows)["test"][which] / predicted - 1)
    assert np.abs(apart).max() < 0.1 + 2 * 0.08
    assert abs(np.mean(apart)) < 0.03


def test_the_page_is_small_and_asks_for_nothing():
    page = explorer_page.page()
    assert len(page.encode()) < 3_000_000
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)[^"']*["']""", page)
    assert "/*DATA*/" not in page


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser, tmp_path):
    """The page from a file; at the end there was no message, and no request of another file."""
    file, told, asked = tmp_path / "explorer.html", [], []
    file.write_text(explorer_page.page(), "utf-8")
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    tab.on("console", lambda message: told.append(message.text))
    tab.on("pageerror", lambda error: told.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(file.as_uri())
    yield tab
    assert not told
    assert {url for url in asked if not url.startswith("data:")} == {file.as_uri()}
    tab.close()


#: Each control, a key that moves it, and what changes.
MOVED = [
    *[(name, "ArrowRight", ["spectrum-words", "gains-words"]) for name in ("alpha", "phi", "c2")],
    *[(name, "ArrowLeft", ["spectrum-words", "gains-words"]) for name in ("c1", "psi")],
    ("c3", "ArrowRight", ["spectrum-words", "gains-words"]),
    ("lambda", "ArrowRight", ["gains-words"]),
    ("activation", "ArrowDown", ["spectrum-words", "gains-words"]),
    ("at", "ArrowRight", ["map-words"]),
    ("run", "ArrowDown", ["map-words"]),
    ("pair", "ArrowDown", ["metric-words"]),
    ("round", "ArrowRight", ["metric-words"]),
    ("table", "ArrowDown", ["bars-title", "bars", "table-words"]),
    ("view", "ArrowDown", ["bars-title", "bars"]),
]
PICTURES = {
    "spectrum-words": "#spectrum canvas",
    "gains-words": "#gains canvas",
    "map-words": "#map",
}


def seen(tab, words: str) -> tuple[str, str]:
    """A text, and the picture that goes with it."""
    drawn = PICTURES.get(words)
    data = tab.eval_on_selector(drawn, "node => node.toDataURL()") if drawn else ""
    return tab.inner_text(f"#{words}"), data


@pytest.mark.slow
def test_every_control_moves_what_it_says_by_the_keyboard(page):
    controls = page.eval_on_selector_all("input, select", "nodes => nodes.map((n) => n.id)")
    assert sorted(controls) == sorted(name for name, _, _ in MOVED)
    for name, key, words in MOVED:
        before = {one: seen(page, one) for one in words}
        page.focus(f"#{name}")
        page.keyboard.press(key)
        for one in words:
            text, picture = seen(page, one)
            assert text != before[one][0], (name, one)
            assert not picture or picture != before[one][1], (name, one)
        assert f"{name}=" in page.url


@pytest.mark.slow
def test_a_link_carries_the_settings_and_nonsense_is_left_out(page):
    address = page.url.split("#")[0]
    page.goto(f"{address}#alpha=0.35&psi=1&activation=tanh&round=3&phi=7&table=99&x=1")
    page.wait_for_function("document.querySelector('#told').textContent.endsWith('table=99, x=1.')")
    assert page.inner_text("#told").startswith("Not taken from the address")
    page.reload()
    assert page.inner_text("output[for=alpha]") == "0.35"
    assert page.inner_text("output[for=psi]") == "1"
    assert page.inner_text("output[for=phi]") == "0.25"
    assert page.input_value("#activation") == "tanh"
    assert page.inner_text("#metric-words").startswith("Round 3")
    text = page.inner_text("#spectrum-words")
    page.click("#simulated")
    assert page.inner_text("#spectrum-words") != text
    page.click("#play")
    page.wait_for_function("document.querySelector('#map-words').textContent.startsWith('Step 1')")


@pytest.mark.slow
def test_dark_print_and_a_phone(page):
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)"
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.querySelector('#spectrum canvas').clientWidth <= 390")
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    page.emulate_media(media="print")
    assert not page.is_visible("#theme")


@pytest.mark.slow
def test_intervals_of_simulated_errors_end_inside_their_plot(page):
    """At every setting that has simulations: 27 sizes and activations, 3 penalties."""
    inside = """async () => {
      const found = [], values = ["activation", "phi", "psi", "lambda"].map((name) => AXES[name]);
      for (const activation of values[0]) for (const phi of values[1])
        for (const psi of values[2]) for (const lambda of values[3]) {
          Object.assign(state, DATA.simulations.target, { activation, phi, psi, lambda });
          drawGains();
          await new Promise((done) => setTimeout(done)); // scales are set after the call
          const which = values[3].indexOf(lambda), { min, max } = plots.gains.scales.y;
          const rows = AXES.alpha.map((alpha) => simulatedAt(state, alpha)).filter(Boolean);
          const wide = rows.map((row) => DATA.interval * row.error[which]);
          const at = rows.map((row) => row.test[which]);
          const low = at.every((one, k) => one - wide[k] >= min);
          found.push(rows.length > 0 && low && at.every((one, k) => one + wide[k] <= max));
        }
      return found;
    }"""
    assert page.evaluate(inside) == [True] * 81


@pytest.mark.slow
def test_the_density_is_that_of_theory(page):
    for cell in CELLS:
        linear, nonlinear, edge, *_ = explorer_data.spectrum_of(cell)
        values = np.linspace(0.02, 1.1, 25) * edge
        asked = [cell["phi"], cell["psi"], linear, nonlinear, values.tolist()]
        found = page.evaluate("([phi, psi, q, v, x]) => density(phi, psi, q, v, x)", asked)
        limit = FeatureLimit(cell["phi"], cell["psi"], linear, nonlinear)
        expected = limit.singular_value_density(values)
        np.testing.assert_allclose(found, expected, atol=1e-6 * expected.max())
