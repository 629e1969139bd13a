"""Singular values of the features and of the first layer after one gradient step eta = n^alpha."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradfeat.catalogue.shared.curves import draw_metric, only, over_seeds, settings
from gradfeat.catalogue.shared.step_spectra import MARGIN, StepModel, measured, predicted, step_size
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, agrees, each, every, lazy, within
from gradfeat.lab.claims import Check
from gradfeat.lab.rows import Where

NAMES = {"centred_relu": "centred ReLU", "sine": "sine", "tanh": "tanh", "odd_sine": "sin z"}

#: What a network is, alpha aside.
MODEL = ("activation", "n", "d", "N", "residual")

#: What a histogram shows, by how many values are separated.
FOUND = {0.0: "no outlier", 1.0: "one outlier", 2.0: "two outliers"}

DENSITY = "theory"


def batch(
    alpha: Sequence[float],
    activation: str = "sine",
    n: int = 4_000,
    d: int = 800,
    N: int = 400,
    residual: str = "y",
    *,
    seeds: Sequence[int],
    device: str = "cpu",
) -> list[Any]:
    """Singular values of F = sigma(X~ (W_0 + eta G)^T), eta = n^alpha, on n rows new to G.

    All in units of the bulk's predicted edge: `first` and `second` of F, how many are at least 10 %
    beyond the edge (`separated`), the largest one of F_0 (`start_bulk`), that of W (`first_layer`,
    in units of 1 + sqrt(N/d)). cos^2 of the left singular vectors with he_1(u), he_2(u) and the
    constant, u = X~ beta/|beta|; alignment |cos(beta, b)| and `norm` |beta|^2. The target is
    setting 2, y = He_1(b.x) + He_2(b.x)/sqrt(2) without noise. For each seed the metrics at each
    alpha.

    `start_separated` and `first_layer_separated` count the values of F_0 and of W beyond their
    edges, `*_error` is measured/predicted - 1. `overlap_line` is cos^2 of the first singular
    vector with he_1(u); `overlap_parabola`, `overlap_constant` and `overlap_cubic` are those of
    the second with he_2(u), the constant and he_3(u).
    """
    model = StepModel(activation, n, d, N, residual)
    return [measured(model, alpha, seed, device) for seed in seeds]


def theory(
    alpha: float, activation: str, n: int, d: int, N: int, residual: str
) -> dict[str, float]:
    """The same at finite eta; nan for what is not separated."""
    return predicted(StepModel(activation, n, d, N, residual), step_size(n, alpha))


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Histograms of one network by regime, its singular vectors against u, values against alpha."""
    drawn, theory_too = _drawn(table), theory_table is not None
    last = drawn[-1] if drawn else None
    vectors = len(last["vectors"]) if last else 0
    first = last is not None and len(np.atleast_1d(last.get("first_layer_values", ()))) > 1
    _, axes = panels(len(drawn) + vectors + first + 1, 3, (3.7, 3.0))
    for ax, row in zip(axes, drawn, strict=False):
        _features(ax, row, theory_too)
    if first:
        _first_layer(axes[len(drawn) + vectors], drawn[-1], theory_too)
    for k in range(vectors):
        _vector(axes[len(drawn) + k], drawn[-1], k, theory_too)
    _positions(axes[-1], table, theory_too)
    n, d, N, residual = settings(table, *MODEL[1:])[0]
    one = ""
    if drawn:
        name = NAMES[drawn[0]["activation"]]
        one = f" Histograms and vectors: {name}, one draw (vectors mix at finite N)."
    return finished(
        axes,
        rf"F = $\sigma(\tilde{{X}}(W_0+\eta{{}}G)^T)$ on n = {n:,} fresh rows, d = {d}, N = {N}; "
        rf"target $He_1+He_2/\sqrt{{2}}$, residual {residual}. "
        rf"Sine: $\sin(z)-\cos(z)+e^{{-1/2}}$. Points: {over_seeds(table)}.{one}",
    )


def _drawn(table: DataFrame) -> list[dict[str, Any]]:
    """The largest step of each regime of one network with arrays: the first in NAMES."""
    rows = table.dropna(subset="values") if "values" in table else table.iloc[:0]
    known = [only(rows, activation=name) for name in NAMES]
    own = next((part for part in known if len(part)), rows)
    for model in settings(own, *MODEL)[:1]:
        own = only(own, **dict(zip(MODEL, model, strict=True))).sort_values("alpha")
        degrees = lazy.limit_degree(own["alpha"].to_numpy(float))
        last = [np.flatnonzero(degrees == k)[-1:] for k in range(3)]
        return own.iloc[np.concatenate(last)].to_dict("records")
    return []


def _model(row: Mapping[str, Any]) -> StepModel:
    return StepModel(**{name: row[name] for name in MODEL})


#: Places of densities, in units of the bulk's edge.
GRID = np.linspace(0.002, 1.0, 300)


def _features(ax: Axes, row: dict[str, Any], theory_too: bool) -> None:
    """Singular values of F in one regime."""
    found, said = FOUND.get(row["separated"], f"{row['separated']:.0f} outliers"), None
    if theory_too:
        spectrum = _model(row).spectrum(step_size(row["n"], row["alpha"]))
        density = spectrum.edge * spectrum.limit.singular_value_density(GRID * spectrum.edge)
        ax.set_ylim(0, 1.3 * float(np.quantile(density, 0.99)))
        said = density, spectrum.outliers[: spectrum.separated(MARGIN)] / spectrum.edge
    _histogram(ax, rf"F, $\eta = n^{{{row['alpha']:g}}}$: {found}", row["values"], said)


def _first_layer(ax: Axes, row: dict[str, Any], theory_too: bool) -> None:
    """Singular values of W at the largest step: the bulk of W_0 and the outlier along beta."""
    model, said = _model(row), None
    if theory_too:
        outlier = np.array([model.first_layer(step_size(row["n"], row["alpha"]))])
        said = _marchenko_pastur(GRID, model.N / model.d), outlier[np.isfinite(outlier)]
    title = rf"W, $\eta = n^{{{row['alpha']:g}}}$"
    _histogram(ax, title, np.asarray(row["first_layer_values"]), said)


def _histogram(
    ax: Axes, title: str, values: np.ndarray, said: tuple[np.ndarray, np.ndarray] | None
) -> None:
    """Values inside the bulk and beyond, with the density and the outliers of theory."""
    style.dress(ax, title, "singular value / bulk edge", "density of values")
    inside, beyond = values[values <= 1 + MARGIN], values[values > 1 + MARGIN]
    bins = max(8, min(40, len(values) // 10))
    ax.hist(inside, bins, density=True, color=style.SKY, alpha=0.55, label="singular values")
    if said is not None:
        series.line(ax, GRID, said[0], DENSITY, style.VERMILLION)
        ax.axvline(1.0, color=style.INK, linewidth=1.0, linestyle=":")
        look = {"color": style.VERMILLION, "linewidth": 1.2, "linestyle": (0, (4, 2))}
        for value in said[1]:
            ax.axvline(value, label="outliers, theory", **look)
    floor = np.full(len(beyond), 0.06 * ax.get_ylim()[1])
    ax.plot(beyond, floor, "v", color=style.BLUE, markersize=7, label="outliers")


def _marchenko_pastur(x: np.ndarray, ratio: float) -> np.ndarray:
    """Density of the singular values of W_0, N/d = ratio, over their edge 1 + sqrt(ratio)."""
    edge, low = 1 + ratio**0.5, abs(1 - ratio**0.5)
    s = x * edge
    inside = np.maximum((edge**2 - s**2) * (s**2 - low**2), 0.0)
    return edge * np.sqrt(inside) / (np.pi * s * min(ratio, 1.0))


def _vector(ax: Axes, row: dict[str, Any], k: int, theory_too: bool) -> None:
    """One left singular vector times sqrt(n) against u, and the mean that overlaps predict."""
    title = f"Left singular vector {k + 1} of F against $He_{k + 1}$"
    x, y = r"$u = \tilde x\cdot\beta/|\beta|$", r"entry of the vector $\cdot\sqrt{n}$"
    style.dress(ax, title, x, y, "both")
    ax.scatter(
        row["projection"], row["vectors"][k], s=7, color=style.BLUE, alpha=0.5, linewidths=0
    )  # fmt: skip
    if theory_too:
        found = predicted(_model(row), step_size(row["n"], row["alpha"]))
        u = np.linspace(row["projection"].min(), row["projection"].max(), 100)
        parabola = np.sqrt(found["overlap_parabola"]) * (u**2 - 1) / np.sqrt(2)
        curves = (np.sqrt(found["overlap_line"]) * u, np.sqrt(found["overlap_constant"]) + parabola)
        series.line(ax, u, curves[k], DENSITY, style.VERMILLION)


def _positions(ax: Axes, table: DataFrame, theory_too: bool) -> None:
    """Measured values beyond the bulk of the networks of one size, against alpha."""
    size = settings(table, *MODEL[1:])[0]
    rows = only(table, **dict(zip(MODEL[1:], size, strict=True)))
    title = "Outliers of F against the step size"
    style.dress(ax, title, r"$\alpha$, $\eta = n^\alpha$", "singular value / bulk edge", "both")
    used = [name for name in NAMES if name in set(rows["activation"])]
    for name, mark in zip(used, style.class_marks(tuple(NAMES[n] for n in used)), strict=True):
        own = only(rows, activation=name)
        for k, order in enumerate(("first", "second")):
            seen = own.dropna(subset=f"{order}_error")
            if draw_metric(ax, seen, "alpha", order, mark) and theory_too:
                alphas, values = _predicted_line(own, k)
                series.line(ax, alphas, values, DENSITY, mark.color)
    ax.set_ylim(bottom=0.6)
    series.level(ax, 1.0, "edge of the bulk", below=True)


def _predicted_line(rows: DataFrame, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k-th outlier over the edge along alpha, nan where there is none."""
    alphas = np.linspace(rows["alpha"].min(), rows["alpha"].max(), 25)
    row = rows.iloc[0].to_dict()
    found = [_model(row).spectrum(step_size(row["n"], alpha)) for alpha in alphas]
    values = [s.outliers[k] / s.edge if len(s.outliers) > k else np.nan for s in found]
    return alphas, np.array(values)


#: Where spikes are far from the edge, and where theory says that the second one is not there.
APART = {"N": 400, "residual": "y"}
NONE = {**APART, "alpha": -0.1}
CLOSE = {"N": [750, 3_000]}
#: beta does not see N: many rows and few neurons tell its length best.
LONG = {"d": 2_000}
#: sin z has c_2 = 0 and c_3 != 0: its second outlier comes with l = 3.
ODD = {**APART, "activation": "odd_sine"}
SHOWN = ["sine", "centred_relu", "tanh"]
ONE = {**APART, "alpha": [0.15, 0.2]}
TWO = {**APART, "alpha": 0.3, "activation": SHOWN}
CURVED = {**TWO, "activation": ["sine", "centred_relu"]}


def exactly(count: int, where: Where, metric: str = "separated") -> Check:
    """In each matched network the metric is `count` at every alpha."""
    return each("activation alpha", within(metric, count, count), where)


ABOUT = """Singular values of the features F after one gradient step of size n^alpha, on rows that
the gradient has not seen, and of the first layer W. Theory is the deterministic equivalent of the
bulk and the spikes at this finite step size; all are in units of the edge of the bulk.

Histograms: one network at the largest step of each regime; l outliers leave the bulk for
(l - 1)/(2 l) < alpha < l/(2 l + 2) where the coefficients c_1, ..., c_l are not 0. Scatter plots:
the left singular vectors are functions of u = x.beta/|beta|, near He_1 and He_2 (with a constant).
The first layer has one outlier, along beta. Points over alpha: positions of the outliers. A theory
line starts where its outlier leaves the bulk. The slide has the same pictures as sketches.
"""

ALPHAS = [-0.1, 0.05, 0.1, 0.15, 0.2, 0.24, 0.26, 0.28, 0.3, 0.32]
BOTH = {"alpha": 0.3, "activation": "centred_relu", "residual": ["y", "y - f0"]}

EXPERIMENT = Experiment(
    name="moniri24-spectrum",
    question="How many outliers does a step of size n^alpha add to the spectra of F and W?",
    about=ABOUT,
    batch=batch,
    along="alpha",
    grids={
        "quick": [
            {"alpha": [-0.1, 0.15, 0.2, 0.28, 0.3], "activation": SHOWN},
            {"alpha": [0.3, 0.36], "activation": "odd_sine"},
            {**BOTH, "n": 1_000, "d": 500, "N": 750},
            {**BOTH, "d": 2_000, "N": 200},
        ],
        "paper": [
            {"alpha": ALPHAS, "activation": SHOWN},
            {"alpha": [0.3, 0.36], "activation": "odd_sine"},
            {**BOTH, "d": 2_000, "N": 3_000},
        ],
    },
    small={"alpha": [-0.1, 0.3], "activation": ["sine", "tanh"], "n": 200, "d": 40, "N": 20},
    seeds={"quick": 20, "paper": 20},
    theory=theory,
    figure=figure,
    checks={
        "Without a step, and after one of n^-0.1, no singular value of F is separated from the bulk"
        " (10 % beyond its edge)."
        " [Moniri24, Theorem on the spectrum, l = 0]": every(
            exactly(0, NONE, "start_separated"), exactly(0, NONE)
        ),
        "For 0 < alpha < 1/4 F has exactly one outlier (alpha = 0.15 and 0.2; n = 4,000, d = 800, N"
        " = 400)."
        " [Moniri24, Theorem on the spectrum, l = 1]": exactly(1, ONE),
        "For 1/4 < alpha < 1/3 F has exactly two outliers where c_1 and c_2 are not 0: sine and"
        " centred ReLU at alpha = 0.3."
        " [Moniri24, Theorem on the spectrum, l = 2]": exactly(2, CURVED),
        "For tanh (c_2 = 0) no second outlier appears."
        " [Moniri24, Theorem on the spectrum: k counts where c_k is not 0]": exactly(
            1, {**TWO, "activation": "tanh"}
        ),
        "For 1/3 < alpha < 3/8 (l = 3) sin z, whose c_2 is 0, has two outliers at alpha = 0.36,"
        " where it has one at 0.3; the second one's left singular vector follows he_3(u) as much as"
        " theory says, cos^2 = 0.50 within 0.05."
        " [Moniri24, Theorem on the spectrum, l = 3: k counts where c_k is not 0]": every(
            exactly(1, {**ODD, "alpha": 0.3}),
            exactly(2, {**ODD, "alpha": 0.36}),
            agrees("overlap_cubic", theory, {**ODD, "alpha": 0.36}, margin=0.05),
        ),
        "At d/n = 1/2, d/N = 2/3 and n of 1,000 to 4,000 the centred ReLU's second value is still"
        " inside the bulk at alpha = 0.3, as predicted: F has one outlier."
        " [derived from Moniri24, Theorem on the spectrum, at finite n]": each(
            "residual", exactly(1, CLOSE), CLOSE
        ),
        "The largest singular value of F_0 is within 1 % of its prediction, the edge less a shift"
        " of order n^(-2/3), and within 1.5 % of the edge itself."
        " [derived from Moniri24: the deterministic equivalent of F_0; Tracy and Widom"
        " 1996]": every(
            agrees("start_bulk", theory, NONE, margin=0.01),
            each("activation", within("start_bulk", 0.985, 1.015), NONE),
        ),
        "The outliers of F are where theory says, the first within 4 % and the second within 6 %."
        " [derived from Moniri24, Theorem on the spectrum, at finite step size]": every(
            *(each("activation", within("first_error", -0.04, 0.04), w) for w in (ONE, TWO)),
            each("activation", within("second_error", -0.06, 0.06), CURVED),
        ),
        "Left singular vectors follow he_1(u), then he_2(u) and the constant, as much as theory"
        " says: cos^2 within 0.03 for one and 0.05 for two (they mix at finite N)."
        " [Moniri24, Theorem on the spectrum: left singular space]": every(
            agrees("overlap_line", theory, ONE, margin=0.03),
            agrees("overlap_line", theory, TWO, margin=0.05),
            agrees("overlap_parabola", theory, CURVED, margin=0.05),
            agrees("overlap_constant", theory, CURVED, margin=0.05),
        ),
        "At d/n = 1/2 beta has cosine 0.707 with the target's direction for the residual y and"
        " 0.643 for the true gradient, both within 0.03, and the length that theory says."
        " [Moniri24, Lemma on beta; derived for y - f0]": every(
            agrees("alignment", theory, LONG, margin=0.03),
            # Half of how far the two squared lengths, 2 and 2.42, are apart.
            agrees("norm", theory, LONG, margin=0.21),
        ),
        "W has a singular value beyond its bulk only above the threshold eta c_1 |beta| ="
        " (N/d)^(1/4), and it is where theory says within 4 %."
        " [Baik, Ben Arous and Peche 2005; Ba et al. 2022]": every(
            exactly(0, NONE, "first_layer_separated"),
            exactly(1, ONE, "first_layer_separated"),
            exactly(1, TWO, "first_layer_separated"),
            *(each("activation", within("first_layer_error", -0.04, 0.04), w) for w in (ONE, TWO)),
        ),
    },
)
