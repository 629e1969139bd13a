"""Errors planted by `mutate.py` in fits to rows, their scores and intervals, and verdicts."""

from __future__ import annotations

from typing import Final

from mutation import Mutation

GRADIENT = "tests/models/test_gradient_step.py"
SUMS = "tests/maths/test_blocks.py"
HEAD = "tests/models/test_head.py"
PASSES = "tests/models/test_training_rows.py"
CALIBRATION = "tests/estimators/test_rows_scaling_search_calibration.py"
SCORES = "tests/table/test_scores.py"
CODING = "tests/table/test_coding.py"
VERDICT = "tests/table/test_verdict.py"
CLAIMS = "tests/lab/test_claims.py"

_HEAD, _CALIBRATION = "models/head.py", "models/search/calibration.py"
_STEP, _SUMS = "models/gradient_step.py", "maths/statistics/gradient_sums.py"
_SCORES, _VERDICT = "table/scores.py", "table/verdict.py"

MUTATIONS_OF_FITS: Final = (
    Mutation("linear part dropped from a network's gradient", "models/predictors.py",
             "torch.stack(outputs, dim=1) + self.beta.T", "torch.stack(outputs, dim=1)",
             ("tests/models/test_contracts.py",)),
    Mutation("squares of weights in the AGOP", _SUMS,
             "J * w.sqrt()[:, None, None]", "J * w[:, None, None]", (SUMS,)),
    Mutation("square of the AGOP's root", _STEP, "(e / e.sum()).sqrt()",
             "(e / e.sum())", (GRADIENT,)),
    Mutation("factor 2 of the first step", _STEP,
             "(2 * sums.WT.T / sums.weight)", "(sums.WT.T / sums.weight)", (GRADIENT,)),
    Mutation("labels for the residual in further steps", _STEP,
             "else NetworkRest(net)", "else AffineRest(net.offset, net.beta)", (GRADIENT,)),
    Mutation("one slope for all rows of a first layer", _SUMS,
             "pull = self.activation.derivative(X @ WT)",
             "pull = self.activation.derivative(X @ WT).mean(0).expand(len(X), -1).clone()",
             (GRADIENT,)),
    Mutation("square root of M left out of a round", "models/rfm.py", "((V * e.sqrt()) @ V.T)",
             "((V * e) @ V.T)", ("tests/models/test_rfm.py",)),
    Mutation("area's interval of half width", _SCORES, "NORMAL**2 * fewer", "NORMAL**2 / 4 * fewer",
             (SCORES,)),
    Mutation("pairs that share a row dropped from an area's variance", _SCORES,
             "each = len(y) - m, (len(y) / 2) - 1", "each = len(y) - m, 0", (SCORES,)),
    Mutation("groups that count as rows in an area's interval", _SCORES, "drawn, n > U)",
             "drawn, False)", (SCORES,)),
    Mutation("groups that count as rows in an accuracy's interval", _SCORES,
             "rows = n if n == U else _as_independent(drawn, n, U)", "rows = n", (SCORES,)),
    Mutation("rows resampled in place of groups", _SCORES,
             'rng, U = numpy_stream(seed, "test bootstrap"), number_of(units)',
             'units = np.arange(len(y))\n    rng, U = numpy_stream(seed, "test bootstrap"), len(y)',
             (CODING,)),
    Mutation("loss's interval of half width", _SCORES, "* np.quantile(moved, SIDES)",
             "/ 2 * np.quantile(moved, SIDES)", (SCORES,)),
    Mutation("percentiles alone for a loss", _SCORES, "np.exp(min(a, c)), loss * np.exp(max(b, d))",
             "np.exp(a), loss * np.exp(b)", (SCORES,)),
    Mutation("claims' intervals of half width", "lab/intervals.py",
             "Limits(mean, mean - reach, mean + reach)",
             "Limits(mean, mean - reach / 2, mean + reach / 2)", (CLAIMS,)),
    Mutation("two-sided agreement of half width", "lab/agreement.py",
             "level = normal_level(z)", "level = normal_level(z / 2)", (CLAIMS,)),
    Mutation("copies of a row held out together", "maths/streams.py", "np.where(copy > 0,",
             "np.where(copy > len(h),", ("tests/maths/test_streams.py",)),
    Mutation("copies of a row held out together where rows stream", "rows/rows.py",
             "torch.where(self.hashes[place] == h, self.drawn[place], alone)", "alone", (PASSES,)),
    Mutation("copies of a row are one to a search", "estimators/training.py",
             "several < SEVERAL_TARGETS or", "several <= 1 or", (CALIBRATION,)),
    Mutation("verdict where no method is beyond chance", _VERDICT, 'if beyond else "unclear"',
             'if beyond or True else "unclear"', (VERDICT,)),
    Mutation("best method is always beyond chance", "table/compare.py",
             "beyond = beyond_chance(table.y_test, found.best.result.scores)", "beyond = True",
             (VERDICT,)),
    Mutation("estimate for the lower end beyond chance", _VERDICT, 'scores["R2"].low > 0)',
             'scores["R2"].estimate > 0)', (VERDICT,)),
    Mutation("sign of a loss in the verdict", _VERDICT, "sign * gap.low, sign * gap.high",
             "gap.low, gap.high", (VERDICT,)),
    Mutation("slope of the calibration's scale", _CALIBRATION, "* s + theta[0] - 1",
             "+ theta[0] - 1", (CALIBRATION,)),
    Mutation("weights dropped from the calibration", _CALIBRATION, "value = -(w * (",
             "value = -(1.0 * (", (CALIBRATION,)),
    Mutation("sign of two classes' decisions", _CALIBRATION, "np.hstack([-decisions, decisions])",
             "np.hstack([decisions, -decisions])", (CALIBRATION,)),
    Mutation("decisions of two classes as logits", _CALIBRATION, "return 0.5 if c == 1 else 1.0",
             "return 1.0", (CALIBRATION,)),
    Mutation("penalty validated on the rows of the fit", _HEAD,
             "held, kept = order[: len(F) // 5], order[len(F) // 5 :]",
             "held = kept = order[len(F) // 5 :]", (HEAD,)),
    Mutation("penalty validated on rows of the fit where rows stream", _HEAD,
             "path = gram_ridge(kept,", "path = gram_ridge(every,", (HEAD,)),
    Mutation("factor 2 of a loss from moments", _HEAD, "held.yy - 2 * (a", "held.yy - (a",
             (PASSES,)),
    Mutation("means dropped from a loss from moments", _HEAD, "+ held.weight * miss.square()",
             "+ 0 * miss.square()", (HEAD,)),
)  # fmt: skip
