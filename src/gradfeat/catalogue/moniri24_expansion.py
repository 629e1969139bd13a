"""How far gradient and features are from their low-rank expansions, against n."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gradfeat.catalogue.shared.curves import draw_metric, over_seeds, theory_line
from gradfeat.catalogue.shared.step_spectra import ACTIVATIONS, StepModel, step_size
from gradfeat.catalogue.shared.step_training import MOST_N
from gradfeat.drawing import style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import DataFrame, Figure
from gradfeat.lab import Experiment, each, lazy, slope, within
from gradfeat.maths.ranges import at_least, at_most, positive

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.step_sizes import Step

PRINTED = style.Mark("$F_2$ as printed", style.GREEN, "s")
KAPPA = style.Mark(r"$F_2$ with $u^2 + \kappa$", style.PURPLE, "^")
GRADIENT = {
    "gradient_rest": style.Mark("operator norm", style.INK, "P"),
    "gradient_rows": style.Mark("root mean square row", style.ORANGE, "v"),
}
FEATURES = {
    "rest_0": style.Mark("$F_0$", style.BLUE, "o"),
    "rest_1": style.Mark("$F_1$", style.VERMILLION, "D"),
    "rest_2": PRINTED,
    "rest_kappa": KAPPA,
}
CONSTANTS = {"constant_2": PRINTED, "constant_kappa": KAPPA}


def trial(
    n: int,
    activation: str = "sine",
    alpha: float = 0.3,
    phi: float = 0.5,
    psi: float = 2 / 3,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """|G - c_1 a beta^T| and |F - F_l| after a step n^alpha, in operator norm.

    gradient_rest is |G - c_1 a beta^T| over |c_1 a beta^T|, gradient_rows the same of the root mean
    square of rows over a_j. rest_l is |F - F_l|/sqrt(n) on n fresh rows, F_l = F_0 + sum_{k <= l}
    c_1^k c_k eta^k (X beta)^k (a^k)^T, powers of each entry; rest_kappa has (X beta)^2 + own/c_1^2
    in the place of the square, own = phi E y^2 (E sigma'^2 - c_1^2). constant_* is the part of
    F - F_2 along the constant and a^2, 1^T (F - F_2) a^2/(sqrt(n) |a^2|)/sqrt(n), the mean over a
    and -a. Setting 2 of the talk, residual y.

    `rest_0`, `rest_1`, `rest_2` are rest_l for l = 0, 1, 2, and `constant_left` is
    constant_kappa over what theory says of constant_2.
    """
    model = model_of(n, activation, phi, psi)
    task = lazy.MultiIndex(model.d, lazy.he1_he2(), 0.0, seed=seed)
    train = task.sample(n, lazy.stream(seed, "train"))
    X = task.sample(n, lazy.stream(seed, "test")).X.to(device)
    step = lazy.first_step(
        lazy.in_memory(train.X.to(device), train.y.to(device)),
        width=model.N, activation=model.sigma, seed=seed
    )  # fmt: skip
    return _gradient(step) | _features(model, step, X, step_size(n, alpha))


def model_of(n: int, activation: str, phi: float, psi: float) -> StepModel:
    """Setting 2 with d = phi n inputs and N = d/psi neurons."""
    positive(phi=phi, psi=psi)
    at_least(4, n=n)
    at_most(MOST_N, n=n, **{"phi n": phi * n, "phi n/psi": phi * n / psi})
    d = max(2, round(phi * n))
    return StepModel(activation, n, d, max(2, round(d / psi)), "y")


def _norm(A: Tensor) -> float:
    return float(lazy.leading_singular(A, 1)[0][0])


def _gradient(step: Step) -> dict[str, float]:
    slope_ = float(step.activation.hermite_coefficients(1)[1])
    rest = step.G - slope_ * step.a @ step.beta.mT
    shared = slope_ * float(step.beta.norm())
    rows = (rest / step.a).square().sum(1).mean().sqrt()
    return {
        "gradient_rest": _norm(rest) / (shared * float(step.a.norm())),
        "gradient_rows": float(rows) / shared,
    }


def _features(model: StepModel, step: Step, X: Tensor, eta: float) -> dict[str, float]:
    c, root = model.sigma.hermite_coefficients(2), len(X) ** 0.5
    rows, a, u = step.rows(X), step.a, X @ step.beta
    F_0, own = rows.features(0.0), _own(model)
    square = float(c[2]) * eta**2 * a.mT.square()
    found = dict.fromkeys(CONSTANTS, 0.0)
    for sign in (1, -1):
        rest = [rows.features(sign * eta) - F_0]
        rest.append(rest[-1] - float(c[1]) ** 2 * sign * eta * u @ a.mT)
        rest.append(rest[-1] - float(c[1]) ** 2 * u.square() @ square)
        rest.append(rest[-1] - own * square)
        for name, left in zip(CONSTANTS, rest[2:], strict=True):
            found[name] += float(left.mean(0) @ a.square()) / float(a.square().norm()) / 2
        if sign == 1:
            found |= {k: _norm(R) / root for k, R in zip(FEATURES, rest, strict=True)}
    found["constant_left"] = found["constant_kappa"] / _constant(model, eta)
    return found


def _constant(model: StepModel, eta: float) -> float:
    """c_2 eta^2 own |a^{o2}|, |a^{o2}|^2 = 3/N."""
    return (
        float(model.sigma.hermite_coefficients(2)[2]) * eta**2 * _own(model) * (3 / model.N) ** 0.5
    )


def _own(model: StepModel) -> float:
    """phi E y^2 (E sigma'^2 - c_1^2)."""
    return float(lazy.own_power(model.ratios[0], model.direction(), model.sigma))


@lru_cache(256)
def theory(n: int, activation: str, alpha: float, phi: float, psi: float) -> dict[str, float]:
    """Leading orders: the root of kappa, and c_2 eta^2 own |a^{o2}| = c_2 eta^2 own sqrt(3/N)."""
    model = model_of(n, activation, phi, psi)
    c, eta = model.sigma.hermite_coefficients(1), step_size(n, alpha)
    rows = _own(model) / float(model.direction().norm_squared)
    return {
        "gradient_rows": rows**0.5 / abs(float(c[1])),
        "constant_2": _constant(model, eta),
        "constant_kappa": 0.0,
        "constant_left": 0.0,
    }


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """The gradient's rest, the features' rest, and the constant in it, against n."""
    _, axes = panels(3, 3, (4.4, 3.6))
    kept = next(name for name in ACTIVATIONS if name in set(table["activation"]))
    rows = table.loc[table["activation"] == kept]
    for ax, title, y, marks, lines in (
        (axes[0], "Gradient beside its rank-one part", "relative size", GRADIENT,
         ["gradient_rows"]),
        (axes[1], "Features less their expansion", r"$|F - F_l|_{op}/\sqrt{n}$", FEATURES, []),
        (axes[2], "Constant that is left of $F - F_2$", r"size along $a^{\circ 2}$ / $\sqrt{n}$",
         CONSTANTS, list(CONSTANTS))
    ):  # fmt: skip
        style.dress(ax, title, "rows n", y, "both")
        for name in lines if theory_table is not None else []:
            label = "leading order, colour of its points"
            theory_line(ax, rows, "n", name, theory, marks[name].color, label)
        for place, (name, mark) in enumerate(marks.items()):
            draw_metric(ax, rows, "n", name, mark, shift=2 * place)
        style.logarithmic(ax, "x")
        style.tick_at(ax, rows["n"], 2)
    for ax in axes[:2]:
        ax.set_ylim(bottom=0)
    row = rows.iloc[0]
    return finished(
        axes,
        rf"{kept.replace('_', ' ')}, $\eta = n^{{{row['alpha']:g}}}$,"
        rf" d/n = {row['phi']:g}, d/N = {row['psi']:.3g}, target $He_1 + He_2/\sqrt{{2}}$, F on"
        f" fresh rows. Points: {over_seeds(rows)}.",
    )


ABOUT = """The talk's two approximations, measured: the gradient is near c_1 a beta^T, and the
features after a step n^alpha are F_l + o(sqrt n) in operator norm (here alpha = 0.3, l = 2).

Left: the operator norm of G - c_1 a beta^T falls against n, as printed; its rows do not get smaller
(the limit of their ratio is sqrt(kappa)), because each neuron's part has a direction of its own.
Middle: |F - F_l|/sqrt(n). At these n most of the rest is the bulk, which the step changes by
n^{alpha - 1/2}, so that only the trend means something. Right: what is left along the constant and
a^{o2}. With the printed F_2 this part grows as n^{2 alpha - 1/2}: F_2 as printed is not within
o(sqrt n). With u^2 + kappa higher powers of the step are left. The sine has bounded slopes.
"""

LARGER = {"n": [1_000, 2_000, 4_000, 8_000]}

EXPERIMENT = Experiment(
    name="moniri24-expansion",
    question="Are gradient and features as close to their low-rank expansions as printed?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": {"n": [250, 500, 1_000, 2_000], "activation": ["sine", "centred_relu"]},
        "paper": {"n": [500, 1_000, 2_000, 4_000, 8_000], "activation": ["sine", "centred_relu"]},
    },
    small={"n": [40, 80]},
    seeds={"quick": 6, "paper": 8},
    theory=theory,
    figure=figure,
    checks={
        "|G - c_1 a beta^T| over |c_1 a beta^T| falls against n, by a power between -1/2 and -1/4:"
        " 1/2 with a logarithm, from the largest of N entries of a."
        " [Moniri24, rank-one approximation of the gradient]": each(
            "activation", slope("gradient_rest", "n", -0.5, -0.25)
        ),
        "Rows of the rest do not get smaller than those of the rank-one part: their ratio keeps its"
        " size over n, with a power between -0.05 and 0.05."
        " [Moniri24, rest of the rank-one approximation; docs/findings.md]": each(
            "activation", slope("gradient_rows", "n", -0.05, 0.05)
        ),
        "With the second column u^2 + kappa |F - F_2|/sqrt(n) does not grow: its power of n is"
        " below that at which the printed one's constant grows, 2 alpha - 1/2 = 0.1."
        " [Moniri24, Theorem on the spectrum, l = 2; docs/findings.md]": each(
            "activation", slope("rest_kappa", "n", -1.0, 0.1)
        ),
        "The constant along a^{o2} that the printed F_2 leaves grows against sqrt(n), by a power"
        " above 0 (in the limit 0.1): F - F_2 as printed is not o(sqrt n)."
        " [derived beside Moniri24, Theorem on the spectrum, l = 2; docs/findings.md]": each(
            "activation", slope("constant_2", "n", 0.0, 0.5)
        ),
        "With u^2 + kappa less than half of that constant is left from n = 1,000 on."
        " [derived beside Moniri24, Theorem on the spectrum, l = 2; docs/findings.md]": each(
            "activation", each("n", within("constant_left", -0.5, 0.5), LARGER)
        ),
    },
)
