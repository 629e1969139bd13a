"""Times, traffic and memory of plans: limits, monotony, the rules of the engines, sentences."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from gradfeat.models.search.search import FAST
from gradfeat.planning import calibration
from gradfeat.planning.calibration import Given, assumed, calibrate
from gradfeat.planning.job import METHODS, Job, PlanError
from gradfeat.planning.plan import Plan, plan_of
from gradfeat.planning.rates import CARDS, card_of
from gradfeat.planning.rehearsal import rehearsed
from gradfeat.planning.times import busiest
from gradfeat.planning.traffic import (
    TABLE_ROWS,
    TRAINING_ROWS,
    TRIAL_ARRAYS,
    matrix_bytes,
    traffic_of,
)
from gradfeat.rows.source import Piece
from gradfeat.rows.tree import segmented
from gradfeat.table import row_sample

GIVEN = Given(peak=2e10, network=1e9)
BASE = Job(rows=10**8, columns=50, width=512, workers=8)


def plan(job: Job = BASE, given: Given = GIVEN, gpu: str | None = None, **options: float) -> Plan:
    card = None if gpu is None else card_of(gpu)
    return plan_of(job, assumed(job, given), card, **options)


@pytest.mark.parametrize(
    ("method", "penalty_by"), [*((one, "gcv") for one in METHODS), ("gradient-features", "loo")]
)
def test_more_workers_are_never_slower_in_compute(method, penalty_by):
    plans = [
        plan(replace(BASE, method=method, penalty_by=penalty_by, workers=k)) for k in (2, 4, 16, 64)
    ]
    for few, more in pairwise(plans):
        for a, b in zip(few.passes, more.passes, strict=True):
            assert b.times.compute <= a.times.compute


def test_passes_are_linear_in_rows():
    # A thousand waves or more: the last one is a thousandth of the time at most.
    one, ten = (plan(replace(BASE, rows=10**k)) for k in (11, 12))
    for a, b in zip(one.passes, ten.passes, strict=True):
        assert b.times.compute / a.times.compute == pytest.approx(10, rel=2e-3)


def test_pass_of_one_thread_takes_the_larger_of_compute_and_reading():
    job = replace(BASE, workers=1)
    figures = replace(assumed(job, GIVEN), cores=64)
    for one in plan_of(job, figures).passes:
        slower = max(one.times.compute, one.times.read, one.times.reduce)
        assert one.times.total - one.times.driver == pytest.approx(slower, rel=1e-2)


def test_nothing_is_computed_before_the_first_piece_has_come():
    job = replace(BASE, workers=1, rows=BASE.piece_rows)
    figures = assumed(job, GIVEN)
    for one in plan_of(job, figures).passes:
        assert one.times.total >= one.times.compute + one.times.read


def test_threads_on_all_processors_share_them_with_reading():
    job = replace(BASE, workers=1, threads=2)
    figures = replace(assumed(job, GIVEN), cores=2)
    for one in plan_of(job, figures).passes:
        assert one.times.total >= one.times.compute + 0.9 * one.times.read


def test_workers_of_a_cluster_read_and_compute_in_turn():
    for one in plan().passes:
        assert one.times.total >= one.times.compute + one.times.read


def test_storage_and_network_bound_where_they_are_slow():
    slow = plan(given=replace(GIVEN, storage=1e6))
    assert {one.times.bound for one in slow.passes} == {"reading"}
    assert slow.passes[0].times.read == BASE.stored_bytes / 1e6
    assert plan(given=replace(GIVEN, network=1e4)).passes[-1].times.bound == "reduction"


def test_a_wide_head_on_few_rows_is_bound_by_the_driver():
    assert plan(Job(rows=1000, columns=5, width=4096)).passes[-1].times.bound == "driver"


@pytest.mark.parametrize(("pieces", "workers"), [(1, 2), (7, 3), (1000, 2), (15_259, 64)])
def test_traffic_follows_the_rule_of_the_engine(pieces, workers):
    job = replace(BASE, rows=pieces * BASE.piece_rows, workers=workers)
    found = traffic_of(job, rehearsed(job).passes(job)[-1])
    segments = list(segmented(iter([Piece("none", partial(iter, ()))] * pieces), 0, found.level))
    assert found.folds == len(segments)
    assert found.tasks == 1 + found.folds
    assert found.merges == pieces - 1
    state = rehearsed(job).passes(job)[-1]
    assert found.arriving == len(segments) * round(state.sizes.packed)


def test_the_busiest_thread_has_the_last_wave():
    job = Job(rows=10**5, columns=5, threads=2, method="linear", piece_rows=10_000)
    share = busiest(replace(job, threads=4), traffic_of(job, rehearsed(job).passes(job)[0]))
    assert (share.segments, share.rows) == (3, 30_000)


@pytest.mark.parametrize(
    ("method", "rows", "size"),
    [
        ("kernel", 4000, 8 * 3000**2),
        ("kernel", 29_000, 8 * 21_750**2),
        ("kernel", 30_000, 0),  # all do not stay in memory: they stream, to centres
        ("rfm", 4000, 16 * 3000**2),
        ("rfm", 8004, 0),  # conjugate gradients
        ("linear", 4000, 0),
    ],
)
def test_kernel_matrices_of_rows_that_are_held_count(method, rows, size):
    job = Job(rows=rows, columns=5, method=method)
    assert matrix_bytes(job, 10**10) == size
    assert matrix_bytes(job, 1) == 0


def test_memory_grows_with_pieces_width_and_threads():
    least = plan().memory
    assert plan(replace(BASE, piece_rows=2**20)).memory > least
    assert plan(replace(BASE, width=4096)).memory > least
    assert plan(replace(BASE, threads=4)).memory > least


def test_a_fit_holds_rows_of_the_table_and_features_of_a_search():
    assert TRAINING_ROWS == row_sample.SAMPLE_ROWS
    assert TABLE_ROWS == row_sample.TEST_ROWS + row_sample.SAMPLE_ROWS
    one = Job(rows=10**6, columns=50, width=1024)
    here, half = (plan(job, memory=1e12).memory for job in (one, replace(one, width=512)))
    assert here - half >= 8 * 512 * TRIAL_ARRAYS * FAST.rows
    few = plan(replace(one, rows=10**4, piece_rows=10**3), memory=1e12).memory
    many = plan(replace(one, piece_rows=10**3), memory=1e12).memory
    assert many - few >= 8 * 51 * (TABLE_ROWS - 10**4)


def test_warnings_say_what_to_change():
    (said,) = plan(memory=1e8).warnings
    assert "100 MB are given: take smaller pieces (--piece-rows) or a smaller width." in said
    assert plan(replace(BASE, rows=10**6)).warnings == ()
    (idle,) = plan(replace(BASE, rows=10**5)).warnings
    assert idle.startswith("there are 2 segments for 8 threads, so 6 have nothing to do")
    (card,) = plan(replace(BASE, width=100_000), gpu="l40s").warnings[-1:]
    assert card.startswith("a L40S has 48 GB and the sums take")


def test_a_card_computes_all_but_the_first_pass():
    here, there = plan(), plan(gpu="h100")
    assert there.passes[0].times == here.passes[0].times
    for a, b in zip(here.passes[1:], there.passes[1:], strict=True):
        assert b.times.compute < a.times.compute
        assert b.times.copy > 0
    assert any("not measured" in sentence for sentence in there.assumptions)


@pytest.mark.parametrize("name", CARDS)
def test_cards_are_found_by_name(name):
    card = card_of(name.upper())
    assert 1e12 < card.float64 <= card.float32
    assert card.bus < card.memory_rate < card.float64


@pytest.mark.parametrize("method", METHODS)
def test_calibration_measures_every_kind_of_pass(method):
    job = Job(rows=2000, columns=6, method=method, width=20, workers=2)
    figures = calibrate(job, seconds=0.02)
    assert len(figures.passes) == len(rehearsed(job).labels)
    assert {figure.origin for figure in figures.listed().values()} == {"measured"}
    assert all(math.isfinite(f.value) and f.value >= 0 for f in figures.listed().values())
    assert plan_of(job, figures).seconds > 0


def test_a_given_peak_scales_the_times_of_rows():
    job = Job(rows=2000, columns=6, method="linear", workers=2)
    slow = calibrate(job, Given(peak=1e3, network=5.0), seconds=0.02)
    assert (slow.peak.value, slow.peak.origin) == (1e3, "given")
    assert slow.network is not None
    assert (slow.network.value, slow.network.origin) == (5.0, "given")
    assert all(found.row > 1.0 for found in slow.passes)


def test_json_has_everything():
    found = json.loads(json.dumps(plan().as_json(), allow_nan=False))
    assert {"job", "rates", "passes", "seconds", "warnings", "assumptions"} <= set(found)
    assert found["job"]["features"] == 512
    assert found["flops"] == sum(one["flops"] for one in found["passes"])
    for one in found["passes"]:
        assert one["bytes_read"] == BASE.rows * 51 * 4
        assert set(one["seconds"]) == {"compute", "read", "copy", "reduce", "driver", "total"}
        assert one["rows_a_second"] == pytest.approx(BASE.rows / one["seconds"]["total"])
    total = sum(one["seconds"]["total"] for one in found["passes"]) + found["other_seconds"]
    assert found["seconds"] == pytest.approx(total)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rows": 0}, "rows is 0: give a whole number from 2 to"),
        ({"workers": 0}, "workers is 0: give a whole number from 1 to"),
        ({"width": 5}, "width is 5: gradient features pair their neurons, give an even number"),
        ({"float_bytes": 9}, "float bytes is 9: give a number of bytes from 1 to 8"),
        ({"method": "boosting"}, "method is 'boosting': give one of gradient-features"),
    ],
)
def test_bad_jobs_are_refused_in_a_sentence(change, said):
    with pytest.raises(PlanError, match=f"^{said}"):
        replace(BASE, **change)


def test_bad_figures_are_refused_in_a_sentence():
    with pytest.raises(PlanError, match=r"^peak is 0: give a positive number"):
        Given(peak=0.0)
    with pytest.raises(PlanError, match="give --rate"):
        assumed(BASE, Given())
    with pytest.raises(PlanError, match="give --network"):
        assumed(BASE, Given(peak=1e10))
    with pytest.raises(PlanError, match=r"^gpu is 'abacus': give one of v100, a100"):
        card_of("abacus")


def test_a_plan_without_a_spectrum_still_measures_one_of_some_size(monkeypatch):
    monkeypatch.setattr(calibration, "spectrum_time", float)
    rates = calibrate(Job(rows=1000, columns=20, method="kernel", width=50), seconds=0.1)
    assert rates.spectrum.value == 64  # of a side of 1 the call alone came to hours at 1,000
