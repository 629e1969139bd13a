"""A tree that cuts rows into leaves of nearly equal size, with soft borders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.linear_algebra import widest_direction


class LeafShare(NamedTuple):
    """The rows that reach a leaf, their shares of it, and how these change with the row."""

    leaf: int
    rows: Tensor
    share: Float[Tensor, " m"]
    slope: Float[Tensor, "m r"]


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """Shares s_l(x) of the leaves l of a binary tree: non-negative, sum_l s_l(x) = 1, smooth.

    At a node with direction v, threshold t and half-width h a row goes right by
    q = z^2 (3 - 2 z), z = ((v.x - t) / h + 1) / 2 cut to [0, 1], and left by 1 - q; its share of a
    leaf is the product along the way. Nodes are in the order of a walk that goes left first.

    `directions` (K - 1, r): v of each node of a tree of K leaves.
    `thresholds, widths` (K - 1,): t and h > 0.
    `left` (K - 1,): How many of a node's leaves are on its left.

    >>> X = torch.arange(8.0).double()[:, None]
    >>> tree, leaves = cut_rows(X, torch.ones(8).double(), 2, overlap=0.5)
    >>> [rows.tolist() for rows in leaves]
    [[0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 6, 7]]
    >>> shares = [part.share.sum() for part in tree.parts(X)]
    >>> float(sum(shares)), float(shares[0])
    (8.0, 4.0)
    """

    directions: Float[Tensor, "a r"]
    thresholds: Float[Tensor, " a"]
    widths: Float[Tensor, " a"]
    left: Tensor

    @property
    def leaves(self) -> int:
        """How many there are, one more than nodes."""
        return len(self.left) + 1

    def parts(self, X: Float[Tensor, "n r"]) -> Iterator[LeafShare]:
        """Leaf by leaf the rows of positive share; leaves that no row reaches are left out."""
        whole = LeafShare(0, torch.arange(len(X), device=X.device), X.new_ones(len(X)), 0 * X)
        waiting = [(whole, 0, self.leaves)]
        while waiting:
            part, node, leaves = waiting.pop()
            if not len(part.rows):
                continue
            if leaves == 1:
                yield part
                continue
            first = int(self.left[node])
            one, two = self._halves(X, part, node, part.leaf + first)
            waiting.append((two, node + first, leaves - first))
            waiting.append((one, node + 1, first))

    def _halves(
        self, X: Tensor, part: LeafShare, node: int, second: int
    ) -> tuple[LeafShare, LeafShare]:
        v = self.directions[node].to(X)
        u = (X[part.rows] @ v - float(self.thresholds[node])) / float(self.widths[node])
        z, q = _right(u)
        steep = torch.outer(3 * z * (1 - z) / float(self.widths[node]), v)

        def half(leaf: int, share: Tensor, slope: Tensor) -> LeafShare:
            kept = share > 0
            parent, change = part.share[kept], part.slope[kept]
            slope = change * share[kept, None] + parent[:, None] * slope[kept]
            return LeafShare(leaf, part.rows[kept], parent * share[kept], slope)

        return half(part.leaf, 1 - q, -steep), half(second, q, steep)


def _right(u: Tensor) -> tuple[Tensor, Tensor]:
    """z and the share q that goes right, of distances to the threshold in half-widths."""
    z = ((u + 1) / 2).clamp(0, 1)
    return z, z.square() * (3 - 2 * z)


def cut_rows(
    X: Float[Tensor, "n r"], w: Float[Tensor, " n"], leaves: int, overlap: float
) -> tuple[Partition, list[Tensor]]:
    """A tree of at most so many leaves, and the rows of positive share of each.

    Every node is cut across the direction in which its rows vary most, where their weights are
    shared out as its leaves are; `overlap` is the share of a node's weight that lies within its
    border. Fewer leaves where rows cannot be told apart.
    """
    nodes: list[tuple[Tensor, float, float, int]] = []
    found: list[Tensor] = []

    def go(rows: Tensor, wanted: int) -> int:
        """The number of leaves made of these rows."""
        cut = _cut(X[rows].double(), w[rows].double(), wanted, overlap) if wanted > 1 else None
        if cut is None:
            found.append(rows)
            return 1
        v, t, h = cut
        # Borders pass through rows: their shares are asked, which round as those of a prediction.
        place, (_, q) = len(nodes), _right((X[rows].double() @ v - t) / h)
        nodes.append((v, t, h, 0))
        first = go(rows[q < 1], wanted // 2)
        nodes[place] = (v, t, h, first)
        return first + go(rows[q > 0], wanted - wanted // 2)

    go(torch.arange(len(X), device=X.device), leaves)
    if not nodes:
        none = X.new_zeros(0).double()
        return Partition(X.new_zeros(0, X.shape[1]).double(), none, none, none.long()), found
    directions, t, h, left = zip(*nodes, strict=True)
    wide = {"dtype": torch.float64, "device": X.device}
    t, h, left = torch.tensor(t, **wide), torch.tensor(h, **wide), torch.tensor(left)
    return Partition(torch.stack(directions), t, h, left.to(X.device)), found


def _cut(
    X: Float[Tensor, "n r"], w: Float[Tensor, " n"], leaves: int, overlap: float
) -> tuple[Tensor, float, float] | None:
    """Direction, threshold and half-width; None where all rows are the same."""
    v = widest_direction(X, w)
    u, place = (X @ v).sort()
    mass = w[place].cumsum(0) / w.sum()
    # Between two values that rounding tells apart, the gap nearest to where the weights part.
    gaps = (u[1:] - u[:-1] > 1e-9 * (u[-1] - u[0])).nonzero().flatten()
    if not len(gaps):
        return None
    share = (leaves // 2) / leaves
    at = int(gaps[(mass[gaps] - share).abs().argmin()])
    t = float(u[at] + u[at + 1]) / 2
    low, high = (
        float(u[torch.searchsorted(mass, side).clamp(max=len(u) - 1)])
        for side in (float(mass[at]) - overlap / 2, float(mass[at]) + overlap / 2)
    )
    h = max(t - low, high - t, float(u[at + 1] - u[at]) / 2)
    return v, t, min(h, t - float(u[0]), float(u[-1]) - t)  # extreme rows on one side alone
