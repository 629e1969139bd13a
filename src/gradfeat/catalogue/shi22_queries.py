"""A statistical-query learner of parities on uniform patterns, beside the bound on its cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np

from gradfeat.catalogue.shared.curves import draw_series, only, over_seeds, values_of
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, each, lazy, within
from gradfeat.maths.ranges import at_least, at_most

#: Largest D: all 2^D inputs are visited for each query.
MOST_PATTERNS = 16
#: 1/tolerance is searched up to here, to this factor.
FINEST, FACTOR = 1e6, 1.05


def trial(D: int, power: float, k: int = 3, hidden: int = 30, *, seed: int) -> dict[str, float]:
    """Least 1/tau with which every one of `hidden` sets A is found, and the queries that takes.

    Patterns are uniform on {0,1}^D, y = prod_{i in A} (2 phi_i - 1) with |A| = k. A query about a
    group of C(D, k)^power sets asks for Pr[y = sign(sum of their parities)]; the oracle says 1/2
    wherever that is within tau of the truth, else the truth. The learner keeps the sets that agree
    with all replies to tau, asks about each group in turn, then about halves of what is left.

    `subsets` is C(D, k), `inverse_tolerance` that 1/tau, `share_asked` queries over subsets,
    `cost` the larger of queries and 1/tau, `over_bound` cost over the bound.
    """
    at_least(1, k=k, hidden=hidden)
    at_most(MOST_PATTERNS, D=D)
    at_most(1, power=power)
    bound = lazy.query_bound(D, k)[1]
    rng = np.random.default_rng(seed)
    subsets = np.array([sum(1 << i for i in one) for one in combinations(range(D), k)])
    queries = Queries(D, rng.permutation(subsets))
    C = len(subsets)
    groups = np.array_split(np.arange(C), max(1, round(C ** (1 - power))))
    truths = rng.permutation(C)[:hidden]

    def learnt(inverse: float) -> tuple[bool, int]:
        runs = [queries.learn(groups, 1 / inverse, A) for A in truths]
        right = [guess == A for (_, guess), A in zip(runs, truths, strict=True)]
        return all(right), max(used for used, _ in runs)

    inverse = _least(lambda one: learnt(one)[0])
    _, used = learnt(inverse)
    cost = max(float(used), inverse)
    return {
        "subsets": float(C),
        "queries": float(used),
        "share_asked": used / C,
        "inverse_tolerance": inverse,
        "cost": cost,
        "over_bound": cost / bound,
    }


def _least(enough: Callable[[float], bool]) -> float:
    """The least 1/tau, to FACTOR, from which on it is enough; inf without one."""
    low, high = 1.0, 2.0
    while not enough(high):
        low, high = high, 2 * high
        if high > FINEST:
            return math.inf
    while high / low > FACTOR:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True, eq=False)
class Queries:
    """Pr[y = sign(sum of parities of a group)] under each of the sets A."""

    D: int
    subsets: np.ndarray  #: (C,), a bit for each pattern of a set.
    known: dict[bytes, np.ndarray] = field(default_factory=dict)

    def chances(self, group: np.ndarray) -> np.ndarray:
        """(C,), by A: 1/2 + half the Fourier coefficient of the sign at A; ties count as +1."""
        key = group.tobytes()
        if key not in self.known:
            at = np.zeros(2**self.D)
            at[self.subsets[group]] = 1
            signs = np.where(walsh(at) >= 0, 1.0, -1.0)
            self.known[key] = 0.5 + walsh(signs)[self.subsets] / 2 ** (self.D + 1)
        return self.known[key]

    def learn(self, groups: list[np.ndarray], tolerance: float, A: int) -> tuple[int, int]:
        """Queries used, and the set that the learner settles on."""
        left, used = np.arange(len(self.subsets)), 0
        for group in groups:
            if len(left) == 1:
                return used, int(left[0])
            left, used = self._left(group, left, tolerance, A), used + 1
        while len(left) > 1:
            now, used = self._left(left[: len(left) // 2], left, tolerance, A), used + 1
            if len(now) == len(left):
                break
            left = now
        return used, int(left[0])

    def _left(self, group: np.ndarray, left: np.ndarray, tolerance: float, A: int) -> np.ndarray:
        """The sets that agree with the oracle's reply about a group."""
        chances = self.chances(group)
        reply = chances[A] if abs(chances[A] - 0.5) > tolerance else 0.5
        return left[np.abs(chances[left] - reply) <= tolerance]


def walsh(values: np.ndarray) -> np.ndarray:
    """sum_S values[S] prod_{i in S} x_i at each x in {-1, +1}^D: (2^D,), indexed by bits.

    >>> walsh(np.array([0.0, 1.0, 0.0, 0.0])).tolist()
    [1.0, -1.0, 1.0, -1.0]
    """
    out = values.astype(float)
    for width in 2 ** np.arange(int(math.log2(len(out)))):
        pairs = out.reshape(-1, 2, width)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).ravel()
    return out


def theory(D: int, k: int) -> dict[str, float]:
    """Theorem 3: what queries or 1/tolerance must be at least."""
    return {"cost": lazy.query_bound(D, k)[1]}


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Cost against the number of sets; queries against 1/tau where there are most of them."""
    _, axes = panels(2, 2, (4.8, 3.7))
    names = {p: _name(p) for p in sorted({*table["power"].tolist()})}
    _costs(axes[0], table, names, theory_table is not None)
    _trade(axes[1], table, names)
    return finished(
        axes,
        f"k = {values_of(table, 'k')}, D = {values_of(table, 'D')}. Points: {over_seeds(table)}."
        " Grey: both below the bound, where Theorem 3 leaves no more than chance.",
    )


def _name(power: float) -> str:
    share = Fraction(power).limit_denominator(9)
    return "one set a query" if power == 0 else f"C^({share}) sets a query"


def _costs(ax: Axes, table: DataFrame, names: dict[float, str], lines: bool) -> None:
    title, x = "Cost of finding A", "number C of sets of k patterns"
    style.dress(ax, title, x, r"larger of queries and $1/\tau$", "both")
    draw_series(ax, table, "power", names, "subsets", "cost")
    C = np.sort(np.unique(np.array(table["subsets"], float)))
    if lines:
        series.line(ax, C, C ** (1 / 3) / 2, r"lower bound $C^{1/3}/2$", style.INK)
    D = np.sort(np.unique(np.array(table["D"], float)))
    if len(C) == len(D):
        ax.plot(
            C,
            D,
            color=style.QUIET,
            linestyle=style.DASHES,
            label=r"with structure of gap $\gamma \geq 2/D$: D",
        )
    style.tick_at(ax, C)
    ax.set_yscale("log")


def _trade(ax: Axes, table: DataFrame, names: dict[float, str]) -> None:
    rows = only(table, subsets=table["subsets"].max())
    D, k = rows["D"].iloc[0], rows["k"].iloc[0]
    style.dress(ax, f"What D = {D}, k = {k} takes", "queries", r"$1/\tau$", "both")
    used = rows.groupby("power")["queries"].transform("mean")
    draw_series(ax, rows.assign(queries=used), "power", names, "queries", "inverse_tolerance")
    ax.set(xscale="log", yscale="log")
    bound = theory(int(D), int(k))["cost"]
    ax.set_xlim(1, 2 * float(np.max(rows["queries"].to_numpy())))
    ax.set_ylim(1, 2 * float(np.max(rows["inverse_tolerance"].to_numpy())))
    ax.fill_between([1, bound], 1, bound, color=style.FAINT, zorder=0.5)


ABOUT = """Theorem 3: on patterns that are independent and uniform, a learner that only asks for
probabilities of predicates Q(x, y) to a tolerance tau needs queries >= C(D, k)^(1/3)/2 or 1/tau
>= C(D, k)^(1/3)/2 to have an error below 1/2 - C(D, k)^(-3). The bound is about *either*: one can
be traded for the other.

The learner here shows how. A query about one set S asks for Pr[y = parity of S]: 1 for the set
that decides the label, 1/2 for every other; any tolerance below 1/2 does, and C queries are
needed. A query about a group of g sets asks for Pr[y = sign(sum of their parities)], which is
about 1/2 + (2 pi g)^(-1/2) if A is in the group: C/g queries and log2(g) more that halve what is
left, with 1/tau about (2 pi g)^(1/2). Groups of C^(2/3) sets balance both at C^(1/3), the
exponent of the bound. The oracle replies 1/2 wherever its tolerance allows, as in the theorem's
proof. Probabilities are exact (sums over all 2^D inputs), seeds draw the order of the sets and
which are hidden. Dashed: with structure D queries Pr[y = 2 phi_j - 1] = 1/2 + gamma 1{j in A} of
tolerance gamma/2 find A, at a cost of max(D, 2/gamma)."""

SMALL_BOUND = {"power": [0.0, 0.33, 0.67]}

EXPERIMENT = Experiment(
    name="shi22-queries",
    question="What does learning without structure cost, in statistical queries and tolerance?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": {"D": [6, 8, 10, 12, 14], **SMALL_BOUND},
        "paper": {"D": [6, 8, 10, 12, 14, 16], **SMALL_BOUND, "k": [3, 5], "hidden": 100},
    },
    small={"D": [6, 8], "hidden": 4},
    seeds={"quick": 5, "paper": 10},
    theory=theory,
    figure=figure,
    checks={
        "Where the learner finds every set, its queries or 1/tau are at least C(D, k)^(1/3)/2."
        " [Shi22, Theorem 3]": each("D power", above("over_bound", 1.0)),
        "One set a query takes as many queries as there are sets: 85 to 100 % of C(D, k), the last"
        " of 30 hidden ones among them."
        " [Shi22, Theorem 3, read for one learner]": each(
            "D", within("share_asked", 0.85, 1.0), {"power": 0.0}
        ),
        "Groups of C^(2/3) sets find every set at 3 to 8 times the bound, the same at each D: the"
        " bound's exponent is reached (2 (2 pi)^(1/2) = 5.0 times for large C)."
        " [Shi22, Theorem 3: the bound's exponent; the learner is ours]": each(
            "D", within("over_bound", 3.0, 8.0), {"power": 0.67}
        ),
    },
)
