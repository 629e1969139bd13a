"""The steps: equal to torch.optim.SGD, decay and erasing, stacking, schedules, invariances."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from contracts import close
from gradfeat.maths.activations import Activation, ReLU, Tanh, TruncatedReLU
from gradfeat.models.descent.layers import Layers, Start, shi22_start, stack
from gradfeat.models.descent.phases import Phase, shi22_phases
from gradfeat.models.descent.trained import AllLayers, Batch, HeadOnly, Linearisation, Trained
from gradfeat.models.losses import Hinge, Logistic, Loss, Squared

from .descent_cells import always, networks, rows, run, theta, written_out

PHASE = Phase(20, 0.1, momentum=0.9)
TRAINS: list[Trained] = [AllLayers(), HeadOnly(), Linearisation(networks())]
trains = pytest.mark.parametrize("how", TRAINS, ids=lambda t: type(t).__name__)


def last(start: Layers, given: Batch, *phases: Phase, **options) -> Layers:
    """Where the steps end; by default everything is trained, tanh, logistic loss."""
    settings = {"loss": Logistic(), "sigma": Tanh(), "trained": AllLayers()} | options
    return run(start, always(given), phases, **settings)[-1].layers


def same(one: Layers, other: Layers, tolerance: float = 0.0) -> None:
    """All three equal, by default bit for bit."""
    for a, b in zip((one.W, one.b, one.a), (other.W, other.b, other.a), strict=True):
        if tolerance == 0:
            assert torch.equal(a, b)
        else:
            close(a, b, tolerance)


@pytest.mark.parametrize(("decay_W", "decay_a"), [(0.0, 0.0), (0.05, 0.02)])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize(("loss", "sigma"), [(Logistic(), Tanh()), (Hinge(), TruncatedReLU())])
def test_steps_are_those_of_torch_sgd(loss: Loss, sigma: Activation, momentum, decay_W, decay_a):
    start, given = networks(1), rows(1)
    W, b, a = (t.clone().requires_grad_() for t in theta(start, 0))
    groups = [
        {"params": [W], "weight_decay": 2 * decay_W},
        {"params": [a], "weight_decay": 2 * decay_a},
        {"params": [b]},
    ]
    optimiser = torch.optim.SGD(groups, 0.1, momentum=momentum)
    for _ in range(20):
        optimiser.zero_grad()
        f = written_out((W, b, a), given.X[0], sigma)
        (given.w[0] * loss(f, given.y[0])).sum().backward()
        optimiser.step()
    phase = Phase(20, 0.1, decay_W, decay_a, momentum)
    found = last(start, given, phase, loss=loss, sigma=sigma)
    # Twenty steps, each some hundred units of rounding.
    same(found, Layers(W.detach()[None], b.detach()[None], a.detach()[None]), 1e-12)


def test_erased_weights_are_the_step_alone():
    start, given = networks(), rows()
    phase = Phase(1, 0.3, decay_W="erase", decay_a="erase")
    (step,) = run(start, always(given), [phase], Logistic(), Tanh(), AllLayers())
    assert torch.equal(step.layers.W, -0.3 * step.gradient.W)
    assert torch.equal(step.layers.a, -0.3 * step.gradient.a)
    close(step.layers.b, start.b - 0.3 * step.gradient.b, 1e-15)


@trains
def test_decay_draws_to_the_anchor(how):
    """Steps without a slope: the outputs are certain, the penalty alone acts."""
    start = networks()
    far = Layers(start.W + 1, start.b, start.a + 1)
    given = rows()
    nothing = Batch(given.X, given.y, torch.zeros_like(given.w))
    phase = Phase(1, 0.1, decay_W=2.0, decay_a=1.0)
    found, to = last(far, nothing, phase, trained=how), how.anchor(far)
    close(found.W, to.W + 0.6 * (far.W - to.W), 1e-15)
    close(found.a, to.a + 0.8 * (far.a - to.a), 1e-15)
    assert torch.equal(found.b, far.b)


@trains
def test_a_step_reports_the_loss_before_it(how):
    given = rows()
    path = run(networks(), always(given), [PHASE], Logistic(), Tanh(), how)
    first = torch.stack([
        (given.w[i] * Logistic()(written_out(theta(networks(), i), given.X[i], Tanh()), given.y[i]))
        .sum() for i in range(3)
    ])  # fmt: skip
    close(path[0].loss, first, 1e-14)
    assert bool((path[-1].loss < path[0].loss).all())
    assert [one.step for one in path] == list(range(1, 21))


@trains
@pytest.mark.parametrize(
    ("m", "n", "d", "tolerance"),
    [(16, 64, 16, 1e-12), (512, 256, 8, 0.0), (7, 23, 5, 1e-12)],
)
def test_stacked_networks_come_out_as_one_by_one(how, m, n, d, tolerance):
    """The rounding of twenty steps: BLAS may sum stacked products in another order than one alone.

    Bit for bit at 512 x 256, where networks go one by one in both.
    """
    start, given = networks(3, m, d), rows(3, n, d)
    anchored = isinstance(how, Linearisation)
    whole = last(start, given, PHASE, trained=Linearisation(start) if anchored else how)
    for i in range(3):
        alone = slice(i, i + 1)
        part = Linearisation(start.part(alone)) if anchored else how
        same(whole.part(alone), last(start.part(alone), given.part(alone), PHASE, trained=part),
             tolerance)  # fmt: skip


def test_head_only_leaves_the_first_layer_as_it_was():
    start = networks()
    phase = replace(PHASE, decay_W=0.5, decay_a=0.1)
    found = last(start, rows(), phase, trained=HeadOnly())
    assert torch.equal(found.W, start.W)
    assert torch.equal(found.b, start.b)
    assert not torch.equal(found.a, start.a)


def test_linearisation_is_the_network_to_first_order():
    """Outputs after one step differ by O(eta^2): a hundredth of the step, its square left."""
    start, given = networks(), rows()
    gaps = []
    for eta in (1e-2, 1e-3):
        phase = Phase(2, eta)
        net, line = (
            last(start, given, phase, trained=how) for how in (AllLayers(), Linearisation(start))
        )
        gaps.append(float((net.W - line.W).abs().max()))
        assert 0 < gaps[-1] < 2 * eta**2
    # The second step's gradients differ by O(eta): the gap falls with eta squared, within a tenth.
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.1)


def test_outputs_do_not_depend_on_the_order_of_neurons():
    start, given, order = networks(), rows(), torch.randperm(8, generator=torch.Generator())
    moved = Layers(start.W[:, order], start.b[:, order], start.a[:, order])
    found, other = last(start, given, PHASE), last(moved, given, PHASE)
    same(other, Layers(found.W[:, order], found.b[:, order], found.a[:, order]), 1e-12)


@trains
def test_path_turns_with_the_inputs(how):
    start, given = networks(), rows()
    generator = torch.Generator().manual_seed(0)
    Q = torch.linalg.qr(torch.randn(4, 4, generator=generator).double())[0]
    turned = Layers(start.W @ Q, start.b, start.a)
    other = Linearisation(turned) if isinstance(how, Linearisation) else how
    found = last(turned, Batch(given.X @ Q, given.y, given.w), PHASE, trained=other)
    plain = last(start, given, PHASE, trained=how)
    # A product with an orthogonal matrix, then twenty steps of rounding.
    same(found, Layers(plain.W @ Q, plain.b, plain.a), 1e-12)


def test_shi22_schedule_takes_gradients_as_weights():
    start = stack([shi22_start(3, 0.25, 2.0).draw(16, 8, 1, seed) for seed in range(2)])
    given = rows(2, 64, 8)
    phases = shi22_phases(3, 16, 5)
    path = run(start, always(given), phases, Hinge(), TruncatedReLU(), AllLayers())
    one, two, three = path[:3]
    assert torch.equal(one.layers.W, -0.5 / 16 * one.gradient.W)
    assert torch.equal(two.layers.W, -12.0 * two.gradient.W)
    assert torch.equal(two.layers.a, -12.0 * two.gradient.a)
    close(one.layers.a, start.a - 0.5 / 16 * one.gradient.a, 1e-14)
    # The direction of step 2 counts as the last one in step 3.
    direction = three.gradient.W + 0.9 * two.gradient.W
    close(three.layers.W, two.layers.W - 30 / 16 * direction, 1e-14)
    assert len(path) == 5
    # f = 0 at the start, so that every row has the hinge's loss 1: a sum of 64 weights.
    close(one.loss, torch.ones(2).double(), 1e-14)


@pytest.mark.parametrize(
    "option", [{"step_size": 0.2}, {"decay_W": 0.1}, {"decay_a": 0.1}, {"momentum": 0.5},
               {"noise": 0.5}, {"steps": 19}, {"decay_W": "erase"}]
)  # fmt: skip
def test_every_option_of_a_phase_changes_the_end(option):
    settings = {"sigma": TruncatedReLU()}
    found = last(networks(), rows(), replace(PHASE, **option), **settings)
    assert float((found.W - last(networks(), rows(), PHASE, **settings).W).abs().max()) > 1e-3


def test_float32_is_float64_to_rounding():
    start, given = networks(dtype=torch.float32), rows(dtype=torch.float32)
    found = last(start, given, PHASE)
    assert {found.W.dtype, found.b.dtype, found.a.dtype} == {torch.float32}
    exact = last(networks(), rows(), PHASE)
    # Twenty steps of 1e-7 each times a growth of a few.
    close(found.W.double(), exact.W, 2e-5)


@pytest.mark.parametrize(
    "bad", [{"steps": -1}, {"step_size": -0.1}, {"step_size": float("nan")}, {"momentum": 1.0},
            {"decay_W": -1.0}, {"decay_a": float("inf")}, {"noise": -0.1}, {"batch": -3}]
)  # fmt: skip
def test_phases_refuse_numbers_out_of_range(bad):
    with pytest.raises(ValueError, match="numbers must be finite, at least 0, and momentum below"):
        replace(PHASE, **bad)


def test_refusals():
    with pytest.raises(ValueError, match="batch must be at least 1, or None for all rows"):
        Phase(1, 0.1, batch=0)
    with pytest.raises(ValueError, match="n_steps is 1: two steps are special"):
        shi22_phases(3, 10, 1)
    with pytest.raises(ValueError, match="width is 7: the antisymmetric start pairs neurons"):
        Start().draw(7, 3, 1, 0)


def test_start_has_the_standard_deviations_asked_for():
    start = Start(2.0, 0.5, 3.0, antisymmetric=False).draw(4000, 10, 2, 0)
    for values, std in ((start.W, 2.0), (start.b, 0.5), (start.a, 3.0)):
        # The error of a standard deviation is std/sqrt(2 n); 4 of them once in 15,000 seeds.
        assert abs(float(values.std()) - std) < 4 * std / (2 * values.numel()) ** 0.5
    default = Start().draw(4000, 10, 2, 0)
    close(default.W * 10**0.5, Start(1.0).draw(4000, 10, 2, 0).W, 1e-15)
    assert not default.b.any()
    close(default.a * 4000**0.5, Start(std_a=1.0).draw(4000, 10, 2, 0).a, 1e-15)


def test_antisymmetric_start_is_the_zero_function():
    f = Start(std_b=0.3).draw(10, 4, 2, 5).network(0, ReLU())
    # Pairs cancel exactly in each product; the sum over pairs is rounded.
    assert float(f(rows().X[0]).abs().max()) < 1e-15


def test_loss_can_be_any_loss_of_real_targets():
    given = rows()
    real = Batch(given.X, given.X[..., :1].sin(), given.w)
    path = run(networks(), always(real), [Phase(200, 0.1)], Squared(), Tanh(), AllLayers())
    assert bool((path[-1].loss < 0.2 * path[0].loss).all())
