"""The signal of a measured gradient in every pattern, against autodiff and the exact moments."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradfeat.diagnostics.alignment import pattern_signal
from gradfeat.theory.patterns import PatternLaw
from gradfeat.theory.shi22_moments import gradient_moments, signal_to_noise

G = torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same, whichever others ran before it."""
    G.manual_seed(0)


def dictionary(d: int, D: int) -> torch.Tensor:
    return torch.linalg.qr(torch.randn(d, D, generator=G).double())[0]


def test_planted_signals_come_back_whatever_the_head_and_the_order_of_A():
    T, a, M = (
        torch.randn(4, 7, generator=G).double(),
        torch.randn(4, generator=G).double(),
        dictionary(9, 7),
    )
    signal = pattern_signal((a[:, None] * T) @ M.T, a, M, [5, 1])
    torch.testing.assert_close(signal.T, T, rtol=1e-11, atol=1e-13)  # rounding over the least |a|
    torch.testing.assert_close(signal.inside, T[:, [1, 5]].abs().mean(1))
    torch.testing.assert_close(signal.outside, T[:, [0, 2, 3, 4, 6]].square().mean(1).sqrt())
    reordered = np.concatenate([T[:, [1, 5]], T[:, [0, 2, 3, 4, 6]]], axis=1)
    assert signal.ratio.numpy() == pytest.approx(signal_to_noise(reordered, 2))


def test_a_neuron_without_head_is_left_out():
    T, M = torch.randn(3, 5, generator=G).double(), dictionary(5, 5)
    a = torch.tensor([1.0, 0.0, -2.0]).double()
    signal = pattern_signal((a[:, None] * T) @ M.T, a, M, [0, 1])
    assert signal.ratio.isnan().tolist() == [False, True, False]
    assert signal.median_ratio == pytest.approx(float(signal.ratio[[0, 2]].min()))


def test_gradient_of_the_hinge_loss_has_the_signal_of_the_exact_moments():
    # f = 0 by a head of zero effect: -dL/dW at f = 0 is autodiff of mean y f
    law = PatternLaw.hard_instance(D=12, k=3, p_o=0.5)
    rng, n, s = np.random.default_rng(0), 100_000, 0.3
    sums = rng.choice(4, size=n, p=law.probabilities)
    phi = np.hstack([rng.random((n, 3)).argsort(1) < sums[:, None], rng.random((n, 9)) < 0.5])
    M = dictionary(15, 12)
    X = torch.from_numpy((phi - law.means) / law.sigma) @ M.T
    y = torch.from_numpy(np.array(law.labels)[sums])
    W, b = torch.randn(4, 15, generator=G).double(), torch.zeros(4).double()
    a = torch.tensor([1.0, -0.5, 2.0, 1.0]).double()
    normal = torch.distributions.Normal(0.0, 1.0)

    def integral(z: torch.Tensor) -> torch.Tensor:
        return z * normal.cdf(z) + normal.log_prob(z).exp()

    W.requires_grad_()
    z = X @ W.T + b
    # E min(1, max(0, z + s xi)) in closed form
    f = s * (integral(z / s) - integral((z - 1) / s)) @ a
    (gradient,) = torch.autograd.grad((y * f).mean(), W)
    signal = pattern_signal(gradient, a, M, [0, 1, 2])
    moments = gradient_moments(law, (W.detach() @ M).numpy(), b.numpy(), s)
    scores = (signal.T.numpy() - moments.T) / np.sqrt(moments.variance / n)
    assert np.abs(scores).max() < 5  # 48 scores
    assert scores.std() > 0.3


def test_bad_input_is_named():
    M = torch.eye(4)
    with pytest.raises(ValueError, match=r"\(2, 3\), \(2,\) and \(4, 4\)"):
        pattern_signal(torch.ones(2, 3), torch.ones(2), M, [0])
    for A in ([], [0, 1, 2, 3], [4]):
        with pytest.raises(ValueError, match="some, not all, of the patterns 0 to 3"):
            pattern_signal(torch.ones(2, 4), torch.ones(2), M, A)
