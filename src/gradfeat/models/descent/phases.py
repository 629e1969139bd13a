"""Phases of training: how many steps, and what each does."""

# Apart: experiments ask for step sizes without torch.
from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, final

#: m eta of step 1, eta of step 2, m eta of later steps, on inputs with E|x|^2 = 1.
SHI22_STEP_SIZES = (0.5, 12.0, 30.0)


@final
@dataclass(frozen=True)
class Phase:
    """`steps` steps v <- momentum v + g + 2 lambda theta, theta <- theta - eta v.

    These are the numbers of torch.optim.SGD, and they come to rest where the loss plus
    lambda |theta|^2 is stationary.

    `steps`: How many, at least 0.
    `step_size`: eta, at least 0.
    `decay_W, decay_a`: lambda of the penalties lambda |W|^2 and lambda |a|^2; "erase" is 1/(2 eta),
        which leaves nothing of the old weights: theta <- -eta (momentum v + g), exactly.
    `momentum`: Share of the last step's direction that is kept, in [0, 1).
    `noise`: Standard deviation of Gaussian noise before the activation (averaged in closed form).
    `batch`: Rows of a step; None takes all.

    >>> Phase(1, 0.5, decay_W="erase").erases("W"), Phase(1, 0.5, decay_W=0.1).pull("W")
    (True, 0.2)
    """

    steps: int
    step_size: float
    decay_W: float | Literal["erase"] = 0.0
    decay_a: float | Literal["erase"] = 0.0
    momentum: float = 0.0
    noise: float = 0.0
    batch: int | None = None

    def __post_init__(self) -> None:
        numbers = [v for f in fields(self) if (v := getattr(self, f.name)) not in (None, "erase")]
        if not all(math.isfinite(v) and v >= 0 for v in numbers) or self.momentum >= 1:
            raise ValueError(f"{self}: numbers must be finite, at least 0, and momentum below 1.")
        if self.batch == 0:
            raise ValueError(f"{self}: batch must be at least 1, or None for all rows.")

    def pull(self, layer: Literal["W", "a"]) -> float:
        """2 lambda, the penalty's part of the gradient; 0 for "erase"."""
        decay = self._decay(layer)
        return 0.0 if decay == "erase" else 2 * decay

    def erases(self, layer: Literal["W", "a"]) -> bool:
        """Whether nothing of the old weights is left."""
        return self._decay(layer) == "erase"

    def _decay(self, layer: Literal["W", "a"]) -> float | Literal["erase"]:
        return self.decay_W if layer == "W" else self.decay_a


def shi22_phases(
    k: int,
    m: int,
    n_steps: int,
    *,
    step_sizes: tuple[float, float, float] = SHI22_STEP_SIZES,
    momentum: float = 0.9,
    first_batch: int | None = None,
    batch: int | None = None,
) -> tuple[Phase, Phase, Phase]:
    """Two steps that erase the old weights, under noise k^(-3/2), then ordinary ones: `n_steps` in
    all.

    Step 1 keeps a (lambda_a = 0), step 2 erases both layers. The source gives the step sizes up to
    constants; those here (m eta of the first step, eta of the second, m eta of all later ones) keep
    the outputs small after step 1 (every row still has a slope), spread the neurons' corners over
    the counts after step 2, and do not depend on m. `first_batch` rows are those of the first two
    steps; `momentum` and `batch` are of the later ones.

    Source: Shi22, section 3.1 and appendix on training.
    """
    if n_steps < 2:
        raise ValueError(f"n_steps is {n_steps}: two steps are special, give 2 or more.")
    one, two, later = step_sizes
    noise = k**-1.5
    return (
        Phase(1, one / m, decay_W="erase", noise=noise, batch=first_batch),
        Phase(1, two, decay_W="erase", decay_a="erase", noise=noise, batch=first_batch),
        Phase(n_steps - 2, later / m, momentum=momentum, batch=batch),
    )
