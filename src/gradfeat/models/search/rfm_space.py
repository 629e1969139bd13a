"""The search of a recursive feature machine: paths of rounds, then the fit in the best metric."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, final

import torch
from torch import Tensor

from ...maths.blocks import Block
from ...maths.limits import deadline_passed
from ...rows.rows import Rows
from ..base import Kernel, Learner, Predictor
from ..kernels.generalised_laplace import RoundedLaplace
from ..local_machines import EXHAUSTED_BY, ONE_MACHINE, LocalMachines, LocalRidge, affordable_rows
from ..predictors import KernelMachine, apply_metric
from ..rfm import RFM
from ..solvers.direct import Adaptive
from ..solvers.nystrom_direct import NystromDirect
from ..stacked import Stack
from ..subspace_refit import SubspaceRefit
from .head_search import (
    ALPHAS,
    BY_COLUMN,
    SMOOTHNESS,
    Head,
    HeadSearch,
    HeadTrial,
    Split,
    candidate_directions,
    evaluate_head,
    fit_head,
    held_out_loss,
    is_learnt,
    row_errors,
)
from .kernel_space import KERNELS, PRODUCTS, KernelChoice, kernel
from .rounds import Path, Round, Rounds, search_rounds
from .search import Effort, FinishedFit, MethodSetting, Space, Trial
from .stacking import LEAST_MEMBERS, POINTS, Member, Searched, best_stack

#: Kernels tried beyond "laplace": by a fast search, a full one.
RFM_KERNELS = {False: ("gaussian", BY_COLUMN), True: (*KERNELS, PRODUCTS[1])}
#: Powers of the AGOP that a full search tries beside 1.
AGOP_POWERS = (0.5, 0.25)
#: Penalties of the rounds: the last fit has one of its own.
METRIC_ALPHA, METRIC_ALPHAS = 1e-3, (1e-1,)
#: Rows that the last metric is learnt from, at most, in a thorough search and else, and the first.
METRIC_ROWS, FIRST_METRIC_ROWS = {False: 12_000, True: 20_000}, 3_000
#: Least penalty of a last fit in float32: below it rounding of the kernel leads.
LEAST_ALPHA = 1e-3
#: Rows that the many small fits of a head search train on, at most, by sweeps; twice are held out.
HEAD_ROWS = {1: 700, 2: 2000}
#: So many times the training rows of a split and more rows decide on a rougher kernel again.
MORE_ROWS = 3
#: Paths up to so many times the least loss have their heads searched.
WORTH_A_HEAD = 1.25


@final
@dataclass(frozen=True)
class RFMSetting(MethodSetting):
    """The rounds that teach M, and the last fit; None: the last round itself.

    `stack`: Where the last fit is the weighted mean of several: these, of which `head` would be the
        choice of one.
    """

    rounds: Rounds
    head: Head | None = None
    stack: tuple[Member, ...] = ()

    def named(self) -> dict[str, Any]:
        told = {"stack": " + ".join(map(str, self.stack))} if self.stack else {}
        return asdict(self.rounds) | ({} if self.head is None else self.head.named()) | told

    @property
    def learns(self) -> bool:
        """Whether any of its fits is in a metric that was updated."""
        paths = [member.rounds for member in self.stack] or [self.rounds]
        return any(path.n_iter > 0 for path in paths)

    @property
    def last_kernel(self) -> Kernel:
        one = self.rounds if self.head is None else self.head
        return kernel(one.kernel, one.bandwidth)

    def coordinates(self, split: Split) -> tuple[Tensor, Tensor]:
        """Training and held-out rows as the last fit sees them."""
        if self.head is None:
            return apply_metric(split.train.X, split.A), apply_metric(split.held.X, split.A)
        return split.onto(self.head.directions, self.head.power)


@final
@dataclass(frozen=True)
class RFMSpace(Space[RFMSetting]):
    """Paths of rounds on nearly all rows at few settings, then heads in the best metrics.

    `rfm`: What no search varies.
    `start`: The setting to begin with.
    `axes`: Fields of the rounds, tried one at a time.
    `directions`: In how many leading directions of M the last fit is made; "auto" chooses, and may
        choose the RFM's own last round; None is that round.
    `metric_rows`: Rows that M is learnt from at most, where the last fit is another than the RFM's
        own.
    `memory_limit`: Bytes that kernel matrices of that fit may take.
    """

    rfm: RFM
    start: RFMSetting
    axes: Mapping[str, Sequence[Any]]
    directions: int | str | None
    metric_rows: int | None
    memory_limit: int | None = None

    @property
    def open(self) -> bool:
        return bool(self.axes) or self.start.rounds.n_iter > 0 or self.directions is not None

    def at(self, rounds: Rounds) -> RFM:
        """The RFM of these rounds."""
        given = asdict(rounds)
        k = kernel(given.pop("kernel"), given.pop("bandwidth"))
        return replace(self.rfm, kernel=k, **given)

    def learner(self, setting: RFMSetting) -> Learner[Predictor]:
        """RFM, or an RFM and the fit inside its directions, or several of these."""
        if setting.stack:
            members = (RFMSetting(one.rounds, one.head) for one in setting.stack)
            weights = tuple(one.weight for one in setting.stack)
            return Stack(tuple(map(self.learner, members)), weights)
        head = setting.head
        if head is None:
            return self.at(setting.rounds)
        return self.inside(setting.rounds, head, self._local(setting, head.alpha))

    def inside(
        self, rounds: Rounds, head: Head, learner: Learner[KernelMachine | LocalMachines]
    ) -> SubspaceRefit:
        """The rounds of a setting, and the last fit by `learner` in the directions of `head`."""
        few = None if self.metric_rows is None else FIRST_METRIC_ROWS
        rfm = replace(self.at(rounds), metric_rows=self.metric_rows, first_metric_rows=few)
        return SubspaceRefit(rfm, learner, head.directions, head.power)

    def fit(self, setting: RFMSetting, rows: Rows, seed: int) -> FinishedFit:
        many = rows.held is None or len(rows.held.X) > ONE_MACHINE
        learner = self.learner(setting)
        if setting.head is None and many:
            local = self._local(setting, setting.rounds.alpha)
            learner = SubspaceRefit(self.at(setting.rounds), local, power=None)
        f = learner.fit(rows, seed=seed)
        return FinishedFit(f, used=self.used(f, setting, rows))

    def _local(self, setting: RFMSetting, alpha: float) -> LocalRidge:
        return LocalRidge(setting.last_kernel, alpha, memory_limit=self.memory_limit)

    def used(self, f: Predictor, setting: RFMSetting, rows: Rows) -> dict[str, int]:
        """Rows that taught M, rows that the last fit is a sum over, whether it rounds inputs."""
        held = rows.sample if rows.held is None else rows.held
        most = self.rfm.metric_rows if setting.head is None else self.metric_rows
        n = 0 if held is None or not setting.learns else len(held.X)
        parts = (t for name, t in f.tensors().items() if name.split(".")[-1] == "Z")
        taught, points = n if most is None else min(n, most), sum(map(len, parts))
        rounded = {"rounded": True} if RoundedLaplace.__name__ in json.dumps(f.spec()) else {}
        return {"metric_rows": taught, "points": points, **rounded}

    def best(self, data: Block, seed: int, effort: Effort) -> Trial[RFMSetting]:
        """The best of the paths' rounds and of the heads in the metrics of the two best paths."""
        paths = search_rounds(self.at, self.start.rounds, self.axes, data, seed, effort)
        return self.chosen(paths, data, effort)[0]

    def chosen(
        self, paths: list[Path], data: Block, effort: Effort
    ) -> tuple[Trial[RFMSetting], Round]:
        """The best setting for these rows, and the round whose metric it is in."""
        top, n = paths[0], len(data.X)
        last = top.rounds[top.best]
        own = _trial(RFMSetting(top.until(top.best)), last, last.loss, last.predictions)
        if self.directions is None:
            return own, last
        rows = HEAD_ROWS[effort.sweeps]
        heads: list[tuple[Searched, HeadTrial]] = []
        for path, number in _in_time(_candidates(paths, effort.sweeps)):
            one = self._searched(path, number, rows)
            known = heads[0][0].search.leading() if heads else ()
            heads.append((one, _chosen_head(one, known, rows)))
        best, found = min(heads, key=lambda one: one[1].loss)
        last, found = best.last, _settled(best.last, found, rows)
        if effort.rows < n:
            found = rougher(last, found, data, self.memory_limit)
        auto, sampled = self.directions == "auto", self.metric_rows is not None
        if auto and n * LEAST_MEMBERS <= POINTS and not deadline_passed():
            plain = self._searched(top, 0, rows)
            plain.search.plain()
            single, alphas = min(own.loss, found.loss), penalties(last.splits[0].A)
            stack = best_stack([*(one for one, _ in heads), plain], single, n, alphas)
            if stack is not None:
                setting = RFMSetting(best.rounds, found.head, stack.members)
                return _trial(setting, last, stack.loss, stack.predictions), last
        if auto and not found.loss < own.loss and not (sampled and n > FIRST_METRIC_ROWS):
            return own, top.rounds[top.best]
        setting = RFMSetting(best.rounds, found.head)
        return _trial(setting, last, found.loss, found.predictions), last

    def _searched(self, path: Path, number: int, rows: int) -> Searched:
        """A search of heads in the metric of a round, of which none is tried yet.

        On at most `rows` training and twice as many held-out rows of a split.
        """
        one = path.rounds[number]
        A = one.splits[0].A
        tried = candidate_directions(self.directions, len(A), is_learnt(A))
        small = [split.first(rows) for split in one.splits]
        return Searched(one, path.until(number), HeadSearch(small, tried, penalties(A)))


def rfm_space(
    rfm: RFM,
    choice: KernelChoice,
    diagonal: bool | None,
    agop_power: float | None,
    directions: int | str | None,
    data: Block,
    *,
    thorough: bool,
    memory_limit: int | None = None,
) -> RFMSpace:
    """RFM over the open settings of `choice`, the number of updates, and the last fit.

    The bandwidth of the rounds is searched only by a `thorough` search, or where it is that of the
    last fit too.
    """
    name, bandwidth, alpha = choice.started(data.X)
    axes = choice.axes(bandwidth)
    if choice.alpha is None and directions is not None:
        alpha, axes["alpha"] = METRIC_ALPHA, METRIC_ALPHAS
    if not thorough and directions is not None:
        axes.pop("bandwidth", None)
    if choice.kernel is None:
        axes["kernel"] = RFM_KERNELS[thorough]
    if thorough and agop_power is None:
        axes["agop_power"] = AGOP_POWERS
    if diagonal is None:
        axes["diagonal"] = (True,)
    order = ("kernel", "diagonal", "bandwidth", "agop_power", "alpha")
    tried = {axis: axes[axis] for axis in order if axis in axes}
    power = 1.0 if agop_power is None else agop_power
    rounds = Rounds(name, bandwidth, alpha, bool(diagonal), power, rfm.n_iter)
    head = None if directions in ("auto", None) else Head(int(directions))
    most = METRIC_ROWS[thorough]
    if not thorough:  # half of the rows, which the last fit has all of
        most = max(FIRST_METRIC_ROWS, min(most, len(data.X) // 2))
    taught = affordable_rows(kernel(name, bandwidth), data, most, memory_limit)
    if taught == len(data.X):
        taught = METRIC_ROWS[thorough]
    return RFMSpace(rfm, RFMSetting(rounds, head), tried, directions, taught, memory_limit)


def _candidates(paths: list[Path], sweeps: int) -> list[tuple[Path, int]]:
    """Rounds whose metrics get heads: best and last of the best path, the best of those close."""
    top = paths[0]
    close = [path for path in paths[1 : 1 + sweeps] if path.loss <= WORTH_A_HEAD * top.loss]
    last = [(top, len(top.rounds) - 1)] if top.best < len(top.rounds) - 1 else []
    return [(top, top.best), *last, *((path, path.best) for path in close)]


def _in_time(candidates: Sequence[tuple[Path, int]]) -> Iterator[tuple[Path, int]]:
    """The first, and those that come before the deadline."""
    for i, candidate in enumerate(candidates):
        if i == 0 or not deadline_passed():
            yield candidate


def _chosen_head(one: Searched, known: Sequence[Head], rows: int) -> HeadTrial:
    """The best head in the metric of a round, fitted to all training rows of its splits."""
    found, splits = one.search.run(known), one.last.splits
    if not _has_more(splits, rows) or not math.isfinite(found.loss):
        return found
    predictions = tuple(fit_head(split, found.head, Adaptive()) for split in splits)
    return HeadTrial(found.head, held_out_loss(splits, predictions), predictions)


def _settled(one: Round, found: HeadTrial, rows: int) -> HeadTrial:
    """Kernel and penalty once more with all training rows, where the search used some."""
    if not _has_more(one.splits, rows) or not math.isfinite(found.loss) or deadline_passed():
        return found
    search = HeadSearch(one.splits, [found.head.directions], penalties(one.splits[0].A))
    return search.around(found.head)


def rougher(one: Round, found: HeadTrial, data: Block, memory_limit: int | None) -> HeadTrial:
    """A kernel a step rougher than a Gaussian, where it is better on the rows of one machine.

    A Gaussian is exhausted by few centres, and then gains nothing by further rows. On the few
    training rows of a split it may lead all the same, so both are compared on more, by Nystrom
    centres, which a rougher kernel needs more of: where it is ahead it is so with every row too.
    """
    split, smooth = one.splits[0], SMOOTHNESS[0]
    first = len(split.held.X)
    more = replace(split, train=data.at(slice(first, first + ONE_MACHINE)))
    many = len(more.train.X) > MORE_ROWS * len(split.train.X)
    if found.head.kernel != smooth or not many or deadline_passed():
        return found
    head = replace(found.head, kernel=SMOOTHNESS[1])
    other = evaluate_head(one.splits, head, penalties(split.A))
    if not other.predictions:
        return found
    few = NystromDirect(EXHAUSTED_BY, memory_limit=memory_limit)
    each = [
        row_errors([more], [fit_head(more, h, few)]).square().sum(1)
        for h in (found.head, other.head)
    ]
    gain = each[0] - each[1]
    return other if float(gain.mean()) > float(gain.std()) / len(gain) ** 0.5 else found


def _has_more(splits: Sequence[Split], rows: int) -> bool:
    """Whether splits have more training rows than these."""
    return any(len(split.train.X) > rows for split in splits)


def penalties(A: Tensor) -> list[float]:
    """Those of the last fit that its float type allows."""
    return [a for a in ALPHAS if a >= LEAST_ALPHA or A.dtype == torch.float64]


def _trial(
    setting: RFMSetting, one: Round, loss: float, predictions: Sequence[Tensor]
) -> Trial[RFMSetting]:
    return Trial(setting, loss, torch.cat(tuple(predictions)), *joined(one.splits))


def joined(splits: Sequence[Split]) -> tuple[Tensor, Tensor]:
    """Targets (n, c) and weights (n,) of the held-out rows of all splits."""
    return torch.cat([s.held.y for s in splits]), torch.cat([s.held.w for s in splits])
