"""Cells, keys and what an experiment refuses."""

from __future__ import annotations

import numpy as np
import pytest
from sweep_trials import make, measured, measured_together, twice

from gradfeat.lab import Experiment, ExperimentError, run


def test_a_cell_holds_every_factor_with_defaults_in_the_order_of_the_trial():
    cells = make().cells("quick")
    assert [list(cell.items()) for cell in cells[:1]] == [
        [("n", 1), ("noise", 0.5), ("kind", "plain")]
    ]
    assert len(cells) == 3


@pytest.mark.parametrize("n", [200, "200", 2e2, "2e2", np.int64(200), np.float32(200), [200]])
def test_equal_settings_give_equal_keys_however_they_are_written(n):
    wanted = make().points("quick", 1, {"n": 200, "noise": 1.0, "kind": "3"})
    given = make().points("quick", [0], {"noise": "1", "kind": 3, "n": n})
    assert [p.key for p in given] == [p.key for p in wanted]
    assert given[0].cell == {"n": 200, "noise": 1.0, "kind": "3"}


def test_minus_zero_is_zero():
    keys = {make().points("quick", 1, {"n": 1, "noise": noise})[0].key for noise in (0.0, -0.0)}
    assert len(keys) == 1


def test_every_part_of_the_identity_changes_the_key():
    def key(seed=0, n=1, **options):
        return make(**options).points("quick", [seed], {"n": n})[0].key

    renamed = Experiment("other", "?", measured, {"quick": {"n": 1}}, seeds=1).points("quick")
    keys = {key(), key(seed=1), key(n=2), key(version=2), renamed[0].key}
    assert len(keys) == 5


def test_a_grid_of_products_is_their_union_without_doubles():
    grid = [{"n": [1, 2], "kind": "a"}, {"n": [2, 3], "kind": ["a", "b"]}]
    cells = make(grids={"quick": grid}).cells("quick")
    assert [(c["n"], c["kind"]) for c in cells] == [
        *((1, "a"), (2, "a"), (2, "b")),
        *((3, "a"), (3, "b")),
    ]
    assert len(make(grids={"quick": grid}).cells("quick", {"n": 5})) == 2


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("a", [(1, "a"), (2, "a")]),
        (["b", "a"], [(1, "a"), (2, "b"), (2, "a")]),
        ("plain", [(7, "plain")]),  # the default of a product that does not name it
        ("new", [(1, "new"), (2, "new"), (7, "new")]),
        (["a", "new"], [(n, kind) for n in (1, 2, 7) for kind in ("a", "new")]),
    ],
)
def test_names_asked_for_keep_the_products_that_have_them(asked, wanted):
    """Sizes belong to names; a name that no product has goes with the sizes of each."""
    grid = [{"n": 1, "kind": "a"}, {"n": 2, "kind": ["a", "b"]}, {"n": 7}]
    cells = make(grids={"quick": grid}).cells("quick", {"kind": asked})
    assert [(c["n"], c["kind"]) for c in cells] == wanted


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"nose": 1}, "'nose' is no setting; did you mean 'noise'? There are n, noise, kind."),
        ({"n": 1.5}, "n is 1.5: give a whole number."),
        ({"n": "many"}, "n is 'many': give a number."),
        ({"noise": float("nan")}, "noise is nan: give a finite number."),
        ({"noise": "inf"}, "noise is 'inf': give a finite number."),
        ({"n": True}, "n is True: name the two settings with words instead."),
        ({"n": None}, "n is None: give text, an integer or a number."),
        ({"n": []}, "n has no value: give at least one."),
    ],
)
def test_a_bad_setting_is_refused_in_a_sentence(overrides, words):
    with pytest.raises(ExperimentError) as caught:
        run(make(), **overrides)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"scale": "papr"}, "'papr' is no scale of it; did you mean 'paper'?"),
        ({"seeds": 0}, "seeds is 0: give how many, or a list"),
        ({"seeds": [-1]}, "seeds is [-1]: give how many, or a list"),
        ({"jobs": 0}, "jobs is 0: give 1 or more."),
        ({"device": "cuda"}, "runs on the CPU only, and device is 'cuda'"),
    ],
)
def test_a_bad_request_is_refused_in_a_sentence(request_, words):
    with pytest.raises(ExperimentError) as caught:
        run(make(), **request_)
    assert words in str(caught.value)


def many(*, seed, **rest): ...
def no_seed(n): ...
def called_jobs(jobs, *, seed): ...
def by_default_none(n=None, *, seed=0): ...
def mixed_theory(m): ...


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"trial": many}, "a trial takes 'rest': name each of its parameters instead."),
        ({"trial": no_seed}, "the trial has no parameter 'seed': add it."),
        ({"trial": called_jobs, "grids": {"quick": {"jobs": 1}}}, "'jobs' cannot name a parameter"),
        ({"trial": by_default_none}, "n has values [None]: give text only or numbers only."),
        ({"trial": None}, "there is nothing to run: give a trial or a batch."),
        ({"grids": {}}, "there are no grids"),
        ({"grids": {"quick": {"noise": 1}}}, "n has no value: give at least one."),
        ({"grids": {"quick": {"n": 1, "m": 2}}}, "'m' is no setting; there are n, noise, kind."),
        ({"seeds": {"quick": 2}}, "seeds has no number for scale 'paper': add it."),
        ({"seeds": 0}, "seeds is 0"),
        ({"batch": no_seed}, "trial takes n, noise, kind and batch takes n"),
        ({"batch_size": 0}, "batch_size is 0: give 1 or more."),
        ({"theory": mixed_theory}, "theory takes 'm', which is no setting"),
    ],
)
def test_a_bad_experiment_is_refused_when_it_is_made(options, words):
    with pytest.raises(ExperimentError) as caught:
        make(**options)
    assert words in str(caught.value)
    assert str(caught.value).startswith("experiment 'test': ")


def test_a_batch_alone_is_enough():
    table = run(make(None, batch=measured_together))
    assert table["value"].tolist() == run(make())["value"].tolist()


def test_theory_takes_only_what_it_names_and_is_asked_once_a_setting():
    asked = []

    def theory(n):
        asked.append(n)
        return twice(n)

    experiment = make(theory=theory)
    table = experiment.theory_table(experiment.cells("quick", {"noise": [0, 1]}))
    assert table is not None
    assert table["value"].tolist() == [2.0, 2.0, 4.0, 4.0, 6.0, 6.0]
    assert list(table.columns) == ["n", "noise", "kind", "value"]
    assert asked == [1, 2, 3]
    assert make().theory_table([]) is None
