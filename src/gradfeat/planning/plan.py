"""The plan of a fit: each pass with its bounds, totals, warnings, and what is assumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..maths.limits import allowed_bytes, readable
from .job import Job
from .rates import Card, PassRates, Rates
from .rehearsal import RehearsedPass, rehearsed
from .times import EFFICIENCY, LOOKS, Times, on_card, times_of
from .traffic import Traffic, asking_bytes, matrix_bytes, traffic_of, worker_bytes


@dataclass(frozen=True)
class PassPlan:
    label: str  # its name, as engines report it
    flops: float  # of its matrix products over all rows
    share: float  # of the peak that they reach
    read: int  # bytes
    state: int  # bytes of a state as it is sent
    traffic: Traffic  # segments, merges, bytes between processes, tasks
    memory: float  # bytes of a worker
    asking: float  # bytes of the driver
    on_card: float  # bytes of a graphics card: three states and the statistic
    times: Times  # seconds


@dataclass(frozen=True)
class Plan:
    """All passes of a fit."""

    job: Job  # what is planned
    card: Card | None  # in every worker
    rates: Rates  # what the plan is made of
    passes: tuple[PassPlan, ...]  # in order
    other: float  # seconds beside the passes: the sample, and looks at the first piece
    #: Sentences.
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Of the whole fit at settings that are given."""
        return sum(one.times.total for one in self.passes) + self.other

    @property
    def memory(self) -> float:
        return max(one.memory for one in self.passes)

    @property
    def asking(self) -> float:
        return max(one.asking for one in self.passes)

    def rows_a_second(self, one: PassPlan) -> float:
        return self.job.rows / one.times.total

    def as_json(self) -> dict[str, Any]:
        """Everything, of JSON's own types; SI units, bytes and seconds."""
        return {
            "job": asdict(self.job) | {"features": self.job.m, "pieces": self.job.pieces},
            "card": None if self.card is None else asdict(self.card),
            "rates": {name: asdict(f) for name, f in self.rates.listed().items()},
            "passes": [self._pass_json(one) for one in self.passes],
            "other_seconds": self.other,
            "seconds": self.seconds,
            "rows_a_second": self.job.rows / self.seconds,
            "worker_memory_bytes": self.memory,
            "asking_memory_bytes": self.asking,
            "flops": sum(one.flops for one in self.passes),
            "bytes_read": sum(one.read for one in self.passes),
            "network_bytes": sum(one.traffic.network for one in self.passes),
            "tasks": sum(one.traffic.tasks for one in self.passes),
            "warnings": list(self.warnings),
            "assumptions": list(self.assumptions),
        }

    def _pass_json(self, one: PassPlan) -> dict[str, Any]:
        return {
            "pass": one.label,
            "flops": one.flops,
            "share_of_peak": one.share,
            "bytes_read": one.read,
            "state_bytes": one.state,
            "network_bytes": one.traffic.network,
            "merges": one.traffic.merges,
            "segments": one.traffic.folds,
            "tasks": one.traffic.tasks,
            "worker_memory_bytes": one.memory,
            "seconds": asdict(one.times),
            "bound": one.times.bound,
            "rows_a_second": self.rows_a_second(one),
        }


def plan_of(job: Job, rates: Rates, card: Card | None = None, memory: float | None = None) -> Plan:
    """The plan of a job, with a graphics card in every worker where one is given.

    `memory`: bytes that a worker may take; None: what is free here.
    """
    found = zip(rehearsed(job).passes(job), rates.passes, strict=True)
    passes = tuple(_pass(job, one, on_card(one, here, card), rates, card) for one, here in found)
    looks = LOOKS * min(job.rows, job.piece_rows) * rates.read_row.value
    said = warnings_of(
        job,
        max(one.memory for one in passes),
        max(one.asking for one in passes),
        passes[-1].traffic,
        rates.free.value,
        memory,
    )
    if card is not None and (largest := max(one.on_card for one in passes)) > card.memory:
        said = (
            *said,
            f"a {card.name} has {card.memory / 1e9:g} GB and the sums take {largest / 1e9:.0f} GB: "
            "give a smaller width.",
        )
    return Plan(job, card, rates, passes, rates.sample.value + looks, said, assumptions(job, card))


def _pass(
    job: Job, one: RehearsedPass, found: PassRates, rates: Rates, card: Card | None
) -> PassPlan:
    traffic, base, sizes = traffic_of(job, one), rates.base.value, one.sizes
    return PassPlan(
        one.label,
        float(job.rows) * sizes.flops,
        found.share,
        job.stored_bytes,
        round(sizes.packed),
        traffic,
        worker_bytes(job, one, traffic, base),
        asking_bytes(job, one, traffic, base),
        3 * sizes.held + sizes.sent,
        times_of(job, one, traffic, rates, found, card),
    )


def assumptions(job: Job, card: Card | None) -> tuple[str, ...]:
    """What the numbers rest on, in sentences."""
    said = [
        "Nothing else runs on the machines: rates here are of processor time. Time of a pass is "
        "linear in rows; pieces are spread evenly, and the last wave of them is "
        "as long as the others.",
        "Operations and bytes are those of the learner itself in small rehearsals.",
        "Memory is that of gradfeat fit, rows that it holds and a search among them included; "
        "seconds of a search are not counted, nor those of the rounds of an RFM.",
    ]
    if matrix_bytes(job, allowed_bytes(None)):
        said.append(
            "Rows are few enough to be held: the memory is that of the kernel matrix of all of "
            "them, and a fit whose time is short takes fewer."
        )
    if job.on_cluster:
        said += [
            "Every thread of a worker computes as one thread of this machine does; it reads and "
            "computes in turn, and workers merge sums while others compute.",
            "Storage delivers what all workers can parse, unless --read says what it delivers.",
        ]
    else:
        said.append(
            "One process reads ahead while it computes, and shares the processors of this machine."
        )
    if card is not None:
        said.append(
            f"The {card.name} is not measured: products reach {EFFICIENCY:.0%} of its published "
            "float64 peak, and the first pass, which draws the sample, stays on the processor."
        )
    return tuple(said)


def warnings_of(
    job: Job, needed: float, asking: float, traffic: Traffic, free: float, memory: float | None
) -> tuple[str, ...]:
    """Sentences on memory and idle threads; `asking` is what the driver needs, in bytes.

    >>> job = Job(rows=10**6, columns=5, method="linear")
    >>> warnings_of(job, 2e9, 2e9, Traffic(0, 16, 15), 4e9, 1e9)
    ('a worker needs 2 GB and 1 GB are given: take smaller pieces (--piece-rows).',)
    """
    allowed = free if memory is None else memory
    said = []
    if needed > allowed:
        have = "are free here" if memory is None else "are given"
        said.append(
            f"a worker needs {readable(needed)} and {readable(allowed)} {have}: "
            f"take {_remedies(job)}."
        )
    if job.on_cluster and asking > free:
        said.append(
            f"the driver needs {readable(asking)} to merge and solve, and "
            f"{readable(free)} are free here: give a smaller width, or run it on a larger machine."
        )
    if traffic.folds < job.slots:
        said.append(
            f"there are {traffic.folds:,} segments for {job.slots:,} threads, so "
            f"{job.slots - traffic.folds:,} have nothing to do: take smaller pieces "
            "(--piece-rows) or fewer workers."
        )
    return tuple(said)


def _remedies(job: Job) -> str:
    found = ["smaller pieces (--piece-rows)"]
    if job.m:
        found.append("a smaller width")
    if job.threads > 1:
        found.append("fewer threads a worker")
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"
