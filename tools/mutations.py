"""Errors planted by `mutate.py`: the kinds that formulas and simulations of one step invite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Mutation:
    """`new` in the place of `old`, once, in a file of the package; `tests` should then fail."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


GRID = "tests/theory/test_coefficient_grid.py"
DIRECTION = "tests/theory/test_gradient_direction.py"
LIMIT = "tests/theory/test_one_step_errors.py"
FINITE = "tests/theory/test_finite_step_errors.py"
REUSED = "tests/theory/test_reused_sample_errors.py"
TEACHER = "tests/theory/test_teacher.py"
START = "tests/theory/test_start_and_intercept.py"
SPECTRUM = "tests/theory/test_one_step_spectrum.py"
STEPS = "tests/models/test_step_sizes.py"
ERRORS = "tests/catalogue/test_catalogue_moniri24_errors.py"
SERIES = "tests/theory/test_damian22_gradient.py"
SECOND = "tests/theory/test_second_step.py"
GENERATIVE = "tests/theory/test_generative_exponent.py"
REUSE = "tests/catalogue/test_catalogue_dandi24.py"
DIAGNOSE = "tests/table/test_diagnose.py"
ROUNDS = "tests/theory/test_rfm_rounds.py"
BOUNDS = "tests/theory/test_shi22_bounds.py"
ONLINE = "tests/theory/test_online_sgd.py"
LAZY = "tests/theory/test_lazy_limit.py"
COMMITTEE = "tests/theory/test_committee.py"
SCALES = "tests/catalogue/test_catalogue_time_scales.py"

_DIRECTION, _COLUMNS = "theory/gradient_direction.py", "theory/column_gain.py"
_RIDGE, _FINITE = "theory/ridge_errors.py", "theory/finite_step_errors.py"
_RESOLVENT, _SPIKES = "theory/step_resolvent.py", "theory/one_step_spectrum.py"
_SPECTRUM, _REUSED = "theory/one_step_spectrum.py", "theory/reused_sample_errors.py"
_FEATURES, _REUSED_FEATURES = "theory/feature_resolvent.py", "theory/reused_features.py"
_ONLINE, _COMMITTEE = "theory/online_sgd.py", "theory/committee.py"
_LAZY = "theory/kernel_flow.py"
_TIMES = "catalogue/benarous21_times.py"
_TEACHER = "theory/teacher.py"
_SECOND, _ROUNDS = "theory/second_step.py", "theory/rfm_rounds.py"
_STEP, _TRAINING = "models/step_sizes.py", "catalogue/shared/step_training.py"

MUTATIONS: Final = (
    Mutation("factor 2 of 2 c_2 c_*0", _DIRECTION, "2 * float(bend) * teacher.mean",
             "float(bend) * teacher.mean", (GRID,)),
    Mutation("sign of 2 c_2 c_*0", _DIRECTION, "2 * float(bend) * teacher.mean",
             "-2 * float(bend) * teacher.mean", (GRID,)),
    Mutation("mean of the target dropped", _DIRECTION, "2 * float(bend) * teacher.mean",
             "0 * float(bend) * teacher.mean", (GRID,)),
    Mutation("power of phi in |beta|^2", _DIRECTION, "+ phi * teacher.power",
             "+ phi**2 * teacher.power", (DIRECTION,)),
    Mutation("power of c_1 in W0^T a", _DIRECTION, "initial = gamma * slope",
             "initial = gamma * slope**2", (DIRECTION,)),
    Mutation("kappa dropped", _DIRECTION, "return np.asarray(phi) * direction.residual_power",
             "return 0 * np.asarray(phi) * direction.residual_power", (FINITE, GRID)),
    Mutation("rank-one part counted in kappa", _DIRECTION,
             "excess = max(activation.derivative_second_moment() - slope**2, 0.0)",
             "excess = activation.derivative_second_moment()", (FINITE, GRID)),
    Mutation("factor 1/2 of a variance", _COLUMNS, "half = (stretch**2 + own) / 2",
             "half = stretch**2 + own", (FINITE, GRID)),
    Mutation("factorial dropped", _COLUMNS,
             "moved[j + 2 * i] / math.factorial(i) / math.factorial(j)",
             "moved[j + 2 * i] / math.factorial(j)", (GRID,)),
    Mutation("c_1 dropped from the column", _COLUMNS,
             "lead = float(activation.hermite_coefficients(1)[1]) * np.sqrt",
             "lead = np.sqrt", (GRID,)),
    Mutation("power of the alignment", _COLUMNS, "rho[..., None] ** np.arange(size)",
             "rho[..., None]", (LIMIT,)),
    Mutation("sign of the target's direction", _COLUMNS,
             "np.nan_to_num(alignment)", "-np.nan_to_num(alignment)", (GRID,)),
    Mutation("sign of what W0^T a loses", _COLUMNS, "traces.t - q * traces.t**2 * traces.g",
             "traces.t + q * traces.t**2 * traces.g", (LIMIT,)),
    Mutation("power of s in the test error", _RIDGE, "-dq / traces.s**2", "-dq / traces.s",
             ("tests/theory/test_ridge_errors.py",)),
    Mutation("power of lambda in the training error", _RIDGE, "-(penalty**2) * dq",
             "-penalty * dq", ("tests/theory/test_ridge_errors.py",)),
    Mutation("an intercept that takes nothing away", _RIDGE,
             "level = teacher.beyond_linear - mean - second, 0.0 if intercept else mean",
             "level = teacher.beyond_linear - mean - second, mean",
             ("tests/theory/test_ridge_errors.py", GRID)),
    Mutation("features of degree 2 as noise", _FEATURES, "k2 = 2 * m / (", "k2 = 0 * m / (",
             ("tests/theory/test_ridge_errors.py",)),
    Mutation("half as many functions of degree 2", _FEATURES, "k2 = 2 * m / (", "k2 = 4 * m / (",
             ("tests/theory/test_ridge_errors.py",)),
    Mutation("the target's degree 2 as noise", _RIDGE, "+ second * traces.s2",
             "+ second * traces.s", ("tests/theory/test_ridge_errors.py",)),
    Mutation("twice as many functions of degree 2 after a step", _RESOLVENT,
             "self.phi * (d + 2) / 2", "self.phi * (d + 2)", (FINITE,)),
    Mutation("squares of the step's direction not held", _FINITE, "squared / (d * (d + 2))",
             "0 * squared / (d * (d + 2))", (FINITE,)),
    Mutation("labels that turn neurons are not looked at", _REUSED_FEATURES,
             "turned <= MOST_TURN", "turned <= 100", ("tests/theory/test_predicted_errors.py",)),
    Mutation("the spread of a label over neurons is not looked at", _REUSED_FEATURES,
             "spread <= MOST_SPREAD", "spread <= 1e9", ("tests/theory/test_predicted_errors.py",)),
    Mutation("outliers where the gradient's rest is not small", _SPIKES,
             "* size > MOST_TURNED", "* size > 1e9", (SPECTRUM,)),
    Mutation("noise of an RFM's fit alike in all directions", _ROUNDS,
             "(gamma + (1 - gamma) * met)", "np.ones(len(c))", (ROUNDS,)),
    Mutation("functions of degree 2 as noise on reused rows", _REUSED, "4 * bend**2 * g * tau",
             "0 * bend**2 * g * tau", (START,)),
    Mutation("sign of beta's part along W0^T a", _FINITE, "grid.m - initial * a * moved[:, :K]",
             "grid.m + initial * a * moved[:, :K]", (FINITE,)),
    Mutation("sign of a neuron's length along beta in its column", _FINITE,
             "grid.turned + grid.lengthened", "grid.turned - grid.lengthened", (FINITE,)),
    Mutation("factor of a neuron's length along beta", _RESOLVENT,
             "lengthened=12 * third", "lengthened=6 * third", (FINITE,)),
    Mutation("power across the direction", _FINITE,
             "np.sqrt(max(1 - rho**2, 0.0)) * along", "along",
             (FINITE, GRID)),
    Mutation("a row kept in the fit that says its share", _FINITE, "(p / r[:, None], product / r,",
             "(p, product,", (FINITE,)),
    Mutation("sign of the stretch at finite n", _RESOLVENT,
             "stretched = 1 + eta * a * direction.stretch",
             "stretched = 1 - eta * a * direction.stretch", (GRID,)),
    Mutation("stretch left out of a neuron's norm", _RESOLVENT, "own = stretched**2 +", "own = 1 +",
             (GRID,)),
    Mutation("phi dropped from the resolvent", _RESOLVENT, "self.phi * self.own * ((self",
             "self.own * ((self", (FINITE,)),
    Mutation("stretch left out of the spikes", _SPIKES, "own = stretched**2 +", "own = 1 +",
             (GRID,)),
    Mutation("power of the shift in a spike", _SPIKES, "(shift / Q)[..., None] ** degrees",
             "(shift / Q)[..., None]", (SPECTRUM,)),
    Mutation("sign of W0^T a in W", _SPECTRUM, "(1 - eta * slope * direction.initial) ** 2",
             "(1 + eta * slope * direction.initial) ** 2", (SPECTRUM,)),
    Mutation("a row's own label dropped", "theory/reused_features.py",
             "bent = rows.phi * np.outer(", "bent = 0 * rows.phi * np.outer(", (REUSED,)),
    Mutation("a row's own label dropped from the limit", "theory/reused_features.py",
             "columns(rows.phi * rows.residual)", "columns(0 * rows.residual)", (REUSED,)),
    Mutation("what a row does to the others dropped", "theory/reused_rows.py",
             "/ self.length * self.slopes(q)[..., -1]", "* 0 * self.slopes(q)[..., -1]",
             (REUSED,)),
    Mutation("own label left in when a row is left out", _REUSED,
             "changed = fitted - self.fresh @ c -", "changed = 0 * fitted -", (REUSED,)),
    Mutation("square of the label in the second column", "theory/reused_features.py",
             "own**2 * mean(1, 3) / 3", "own**2 * mean(1, 3)", (REUSED,)),
    Mutation("rank-one gradient for the true one", _STEP,
             "return Step(W0, a, G.to(X), beta.to(X), activation)",
             "return Step(W0, a, (a @ beta.T).to(X) / 2, beta.to(X), activation)",
             (STEPS, ERRORS)),
    Mutation("head fitted on the gradient's rows", _TRAINING,
             '"head" if self.sample == "fresh" else "gradient", "test"',
             '"gradient", "test"', (ERRORS,)),
    Mutation("factorial of C_k(chat^k)/k!", _TEACHER,
             "(self.target.contract(k, chat)[0]) / math.factorial(k)",
             "(self.target.contract(k, chat)[0])", (TEACHER, GRID)),
    Mutation("factorial of what is known given u", _TEACHER,
             "/ math.factorial(k) for h in of]", "for h in of]", (TEACHER,)),
    Mutation("power of the alignment given u", _TEACHER,
             "rho ** np.arange(len(found))[:, None]",
             "(rho + 0.0 * np.arange(len(found))[:, None])", (TEACHER,)),
    Mutation("first coordinate for the direction of C_1", _TEACHER,
             "return self._gradient / self.linear if self.linear > 0 else",
             "return", (TEACHER,)),
    Mutation("other directions of the target dropped", _FINITE,
             "if of_p[:, 2:].any() and", "if False and", (TEACHER,)),
    Mutation("head's law taken for Gaussian", _RESOLVENT,
             "np.array(head.values), np.array(head.masses)",
             "np.array(GAUSSIAN_HEAD.values), np.array(GAUSSIAN_HEAD.masses)", (TEACHER,)),
    Mutation("columns beyond the values of the head's law", "theory/one_step_errors.py",
             "columns[..., head.independent(there)]", "columns[..., np.flatnonzero(there)]",
             (TEACHER,)),
    Mutation("constant of reused rows without its penalty", _REUSED,
             "np.append(weights, constant)", "np.append(weights, 1e-9)", (START,)),
    Mutation("factor k + 2 dropped from the series", "theory/damian22_gradient.py",
             "along += (k + 1) * (k + 2) * c", "along += (k + 1) * c", (SERIES,)),
    Mutation("factor 2 of sqrt(2 N)", "theory/bounds.py", "np.sqrt(2 * N) * B",
             "np.sqrt(N) * B", (BOUNDS,)),
    Mutation("smoothing by the sphere of one dimension more", _ONLINE, "(sgd.d - 1 + 2 * i)",
             "(sgd.d + 2 * i)", (ONLINE,)),
    Mutation("sphere's constraint dropped from a slope", _ONLINE,
             "found[1:, :-1] -= 2 * (averaged * j)[:-1, 1:]", "found[1:, :-1] += 0", (ONLINE,)),
    Mutation("renormalisation dropped from a step", _ONLINE,
             "(m + step * across * v) / np.sqrt(1 + step**2 * rest) - m", "step * across * v",
             (ONLINE,)),
    Mutation("degrees of freedom across the overlap", _ONLINE, "_chi_square(self.d - 2)",
             "_chi_square(self.d + 8)", (ONLINE,)),
    Mutation("density of the start", _ONLINE, "((self.d - 3) / 2)", "((self.d - 3) / 4)",
             (ONLINE,)),
    Mutation("factor 1/2 of the diffusion", _ONLINE, "up, down = variance / 2 / h**2",
             "up, down = variance / h**2", (ONLINE,)),
    Mutation("exponent of hitting times", _ONLINE, "k / 2 if smoothed else k - 1.0",
             "k / 2 if smoothed else float(k)", (ONLINE,)),
    Mutation("eta^2 of the order parameters", _COMMITTEE, "eta**2 * square", "eta * square",
             (COMMITTEE,)),
    Mutation("overlap of two units in their covariance", _COMMITTEE,
             '- np.einsum("ik,ia,kb->ikab", C[:K, :K], side, side)',
             '+ np.einsum("ik,ia,kb->ikab", C[:K, :K], side, side)', (COMMITTEE,)),
    Mutation("noise of the labels in the order parameters", _COMMITTEE, "noise**2 * 2 / np.pi",
             "noise**2 / np.pi", (COMMITTEE,)),
    Mutation("head's part of the tangent kernel", _LAZY, "(cosine + 1 + d * cosine)",
             "(1 + d * cosine)", (LAZY,)),
    Mutation("noise that two penalties share", "theory/kernel_flow.py",
             "(1 - (L.T * N) @ L / n)", "(1 - 0 * (L.T * N) @ L / n)", (LAZY,)),
    Mutation("factor 2 of the time", "theory/kernel_flow.py", "speed = 2 * time / n",
             "speed = time / n", (LAZY,)),
    Mutation("bound on the kernel's growth", _LAZY, "return 4 * math.sqrt(d + 1)",
             "return 8 * math.sqrt(d + 1)", (LAZY,)),
    Mutation("projected chain that leaves the sphere", _TIMES,
             "(now + g * side) / np.sqrt(1 + g * g * rest[t])", "now + g * side", (SCALES,)),
    Mutation("own part of a row dropped on reused rows", _SECOND,
             'again = math.sqrt(phi * power), float(rows == "reused")',
             'again = math.sqrt(phi * power), 0.0', (SECOND, REUSE)),
    Mutation("own part without phi", _SECOND, "eta * (m * s + again * phi * c",
             "eta * (m * s + again * c", (SECOND,)),
    Mutation("noise of the other rows dropped", _SECOND, "abs(eta) * spread)", "0.0)", (SECOND,)),
    Mutation("correlation of the two gradients dropped", _SECOND,
             "rest = phi * (square - again * with_c**2 / power)", "rest = phi * square", (SECOND,)),
    Mutation("one power of alpha_1 too few", _SECOND, "return 1.0 + math.floor(powers)",
             "return 2.0 + math.floor(powers)", (SECOND,)),
    Mutation("sqrt(k) dropped from the mass of a slice", "theory/generative_exponent.py",
             "rest = -orthonormal_hermite(k_max - 1, at) / np.sqrt(np.arange(1.0, k_max + 1))",
             "rest = -orthonormal_hermite(k_max - 1, at)", (GENERATIVE,)),
    Mutation("falling pieces of g taken for rising ones", "theory/generative_exponent.py",
             "inside = (g(middle) <= edges) == rising", "inside = g(middle) <= edges",
             (GENERATIVE,)),
    Mutation("second gradient on the first rows in place of fresh ones",
             "catalogue/dandi24_reuse.py", 'S = first if one == "reused" else other', "S = first",
             (REUSE,)),
    Mutation("second gradient at the start", "catalogue/dandi24_reuse.py",
             "_slope(S @ stepped.T + eta * ZB)", "_slope(S @ A.T)", (REUSE,)),
    Mutation("rows' own part left out where rows are drawn by their products",
             "catalogue/dandi24_reuse.py", "n * np.linalg.inv(C.T @ C) @ shared - along @ ZB",
             "-along @ ZB", (REUSE,)),
    Mutation("slices of a target that are one", "table/diagnosis_rows.py",
             "torch.arange(1, count, dtype=y.dtype) / count", "torch.zeros(1, dtype=y.dtype)",
             (DIAGNOSE,)),
    Mutation("overfitting of ridge dropped", _ROUNDS, "+ total - c @ c) / (1 - gamma)",
             "+ total - c @ c)", (ROUNDS,)),
    Mutation("degree of the rest dropped from the AGOP's noise", _ROUNDS,
             "(np.arange(2, _REST) * variance[2:].sum(1)).sum()", "variance[2:].sum()",
             (ROUNDS,)),
    Mutation("steps of twice the size", "catalogue/saad95_committee.py",
             "W = W + eta / d * delta", "W = W + 2 * eta / d * delta", (SCALES,)),
    Mutation("product dropped from a staircase", "catalogue/abbe23_leaps.py",
             "X[..., :1] * (1 + factor)", "X[..., :1] * (1 + 0 * factor)", (SCALES,)),
    Mutation("width left out of the output's scale", "catalogue/chizat19_dial.py",
             "A = alpha * m ** (1 - gamma)", "A = alpha * 1.0", (SCALES,)),
    Mutation("second step dropped", "catalogue/dandi24_outliers.py",
             "W = W + prefactor * n**alpha * gradient(W, used)",
             "W = W + prefactor * n**alpha_1 * gradient(W, used)", (REUSE,)),
    Mutation("no step in place of one", "catalogue/theory_teachers.py", "[0.0, n**self.alpha]",
             "[0.0, 0.0]", ("tests/catalogue/test_theory_teachers.py",)),
    Mutation("shares of the first weights", "catalogue/moniri24_multi_index.py",
             "W = step.W(eta)", "W = step.W(0.0)",
             ("tests/catalogue/test_catalogue_moniri24_multi_index.py",)),
    Mutation("share of the linear part for that of the nonlinear one",
             "catalogue/ba22_step_size.py", "(test.y - test.X @ task.directions)",
             "(test.X @ task.directions)", ("tests/catalogue/test_catalogue_ba22.py",)),
    Mutation("rows dropped from the errors of neurons", "catalogue/shared/equivalent_features.py",
             '(("", float(n)), (EQUIVALENT', '(("", math.inf), (EQUIVALENT',
             ("tests/catalogue/test_catalogue_moniri24_equivalence.py",)),
    Mutation("degree 2 that is no column dropped from the rest", _RESOLVENT,
             "linear**2 - (parts @ beside.T) ** 2", "linear**2 - bent**2", (FINITE,)),
    Mutation("covariance of the images dropped from rows that match it",
             "catalogue/shi22_teacher_mix.py", "root = found.S[:, None] * found.Vh",
             "root = found.S.square().mean() ** 0.5 * found.Vh",
             ("tests/catalogue/test_catalogue_settings.py",)),
    Mutation("what a row's share has of a neuron's", _RESOLVENT,
             "crossed = (self.he @ inner @ self.slope.T) ** 2",
             "crossed = 0 * (self.he @ inner @ self.slope.T)", (FINITE,)),
    Mutation("updates of M dropped", "catalogue/rad24_rounds.py", "errors[:, k], 0.5)",
             "errors[:, 0], 0.5)", ("tests/catalogue/test_catalogue_rad24_rounds.py",)),
)  # fmt: skip
