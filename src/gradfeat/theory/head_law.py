"""The law of the head that a network starts from: sqrt(N) a_j, by values and their masses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..maths.hermite import gauss_hermite, gauss_legendre
from ..maths.step_names import HEAD_LAWS, HeadName

#: Nodes of averages over a law with a density.
NODES = 24


@dataclass(frozen=True, repr=False)
class HeadLaw:
    """h = sqrt(N) a_j takes `values` with `masses`; a density stands as its quadrature.

    Of a step only averages over h are seen: E h^2 = 1 makes |beta| and f_0, the others the sizes of
    spikes. A law of m values has only the columns of 1, h, ..., h^{m-1}.

    Raises ValueError unless the masses are a law with E h^2 = 1.

    >>> sign = HeadLaw((-1.0, 1.0), (0.5, 0.5))
    >>> sign == HeadLaw.named("sign"), sign == HeadLaw.of_moments((0.0, 1.0, 0.0, 1.0))
    (True, True)
    >>> sign
    <HeadLaw of 2 values>
    """

    values: tuple[float, ...]
    masses: tuple[float, ...]

    def __post_init__(self) -> None:
        h, w = np.array(self.values), np.array(self.masses)
        found = [w.sum(), w @ h**2] if len(h) == len(w) else [np.nan] * 2
        if not (np.abs(np.subtract(found, 1)) < 1e-9).all() or (w < 0).any():
            raise ValueError(
                f"The head's law has mass and E h^2 of {np.round(found, 4).tolist()}: give masses"
                " of 0 or more with sum 1 and E h^2 = 1 (other sizes are eta's)."
            )

    def __repr__(self) -> str:  # in signatures, where nodes of a quadrature fill a page
        return f"<HeadLaw of {len(self.values)} values>"

    def centred(self, where: str) -> None:
        """Nothing of a law with E h = 0; ValueError of another one, whose f_0 holds |x|^2 too."""
        if abs(mean := float(np.dot(self.values, self.masses))) > 1e-9:
            raise ValueError(
                f"The head's entries have mean {mean:.3g}/sqrt(N), for which {where} is not"
                " derived: give a head of mean 0, or residual 'y' on fresh rows."
            )

    @staticmethod
    def named(name: HeadName) -> HeadLaw:
        """N(0, 1), -1 or 1, uniform on [-sqrt(3), sqrt(3)], or 1 in every neuron.

        Raises ValueError for another name.
        """
        match name:
            case "gaussian":
                h, w = gauss_hermite(NODES)
            case "sign":
                h, w = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
            case "uniform":
                h, w = gauss_legendre(NODES)
                h, w = 3**0.5 * h, w / 2
            case "ones":
                h, w = np.ones(1), np.ones(1)
            case _:
                raise ValueError(f"The head is {name!r}: give one of {', '.join(HEAD_LAWS)}.")
        return HeadLaw(tuple(h.tolist()), tuple(w.tolist()))

    @staticmethod
    def of_moments(moments: Sequence[float]) -> HeadLaw:
        """The law of k values with E h, ..., E h^{2k-1} as given; E h^{2k} is not used.

        Regime: exact for averages of polynomials below degree 2 k.
        Raises ValueError where no law has these moments.
        Source: Golub & Welsch 1969.

        >>> HeadLaw.of_moments((0, 1, 0, 3, 0, 15)).values  # Gauss-Hermite: 0 and sqrt(3)
        (-1.732050807569, 0.0, 1.732050807569)
        """
        m, k = np.array([1.0, *moments]), len(moments) // 2
        if len(moments) % 2 or k < 2 or not np.isfinite(m).all():
            raise ValueError(
                f"The moments were {tuple(moments)}: give E h, ..., E h^{{2k}}, finite, 2 k of 4 or"
                " more."
            )
        whole = m[np.add.outer(np.arange(k + 1), np.arange(k + 1))]
        H = whole[:k, :k]
        shifted = m[1 + np.add.outer(np.arange(k), np.arange(k))]
        try:
            np.linalg.cholesky(whole + 1e-9 * np.eye(k + 1))
            L = np.linalg.cholesky(H)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"No law has the moments {tuple(moments)}: give those of one."
            ) from None
        inner = np.linalg.solve(L, np.linalg.solve(L, shifted).T)
        h, vectors = np.linalg.eigh((inner + inner.T) / 2)
        return HeadLaw(tuple(h.round(12).tolist()), tuple((vectors[0] ** 2).round(12).tolist()))

    def independent(self, there: Sequence[bool]) -> list[int]:
        """Powers k of h, of those that are `there`, that no lower ones make up on its values.

        >>> HeadLaw.named("sign").independent([False, True, True, True])  # h^3 = h
        [1, 2]
        """
        h, kept = np.array(self.values), []
        Q = np.zeros((len(h), 0))
        for k in np.flatnonzero(there):
            power = h**k * np.sqrt(self.masses)
            left = power - Q @ (Q.T @ power)
            if np.linalg.norm(left) > 1e-6 * np.linalg.norm(power):
                Q, kept = np.column_stack([Q, left / np.linalg.norm(left)]), [*kept, int(k)]
        return kept


GAUSSIAN_HEAD = HeadLaw.named("gaussian")
