"""Which columns of a table say nearly the same: they are named, and shuffled, together."""

# Apart: what correlation of columns is; who shuffles them and who remarks on them need not know.
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

from gradfeat.table.results import ColumnGroup

Floats = NDArray[np.float64]

#: Correlation from which columns are a group.
LEAST_CORRELATION = 0.9

#: Rows that are looked at, the fewest that say anything, and the most columns.
MOST_ROWS, FEWEST_ROWS, MOST_COLUMNS = 2_000, 20, 4_000

#: Relative to the largest singular value of a column's parts: what is below is none of its own.
RANK = 1e-8


def correlated_groups(X: Floats, source: Sequence[str]) -> tuple[ColumnGroup, ...]:
    """Columns of a table that are correlated by .9 or more (average linkage), two or more a group.

    Of two columns with orthonormal bases Q, R of their centred ranks (of their encoded parts, where
    they have several) the correlation is ``|Q^T R| / sqrt(max(q, r))`` in the Frobenius norm:
    Spearman's of two numbers without sign, and 1 of levels that are the same under other names.

    Parameters
    ----------
    X : array (n, d)
        Encoded rows.
    source : sequence of d str
        The original column of each encoded one; the first 4,000 columns are looked at.

    Examples
    --------
    >>> x, z = np.random.default_rng(0).normal(size=(2, 100))
    >>> X = np.column_stack([x, z, np.exp(x)])
    >>> correlated_groups(X, ("a", "b", "c"))
    (ColumnGroup(columns=('a', 'c'), correlation=1.0),)
    """
    names = [*dict.fromkeys(source)][:MOST_COLUMNS]
    if len(X) < FEWEST_ROWS or len(names) < 2:
        return ()
    R = correlations(X[:MOST_ROWS], source, names)
    tree = linkage(squareform(1 - R, checks=False), method="average")
    label = fcluster(tree, 1 - LEAST_CORRELATION, criterion="distance")
    groups = [np.flatnonzero(label == k) for k in np.unique(label)]
    found = [_group(names, at, R) for at in groups if len(at) > 1]
    return tuple(sorted(found, key=lambda group: -group.correlation))


def _group(names: list[str], at: NDArray[np.intp], R: Floats) -> ColumnGroup:
    """The columns at these places, with their least correlation."""
    least = R[np.ix_(at, at)].min()
    return ColumnGroup(tuple(str(names[i]) for i in at), round(float(least), 3))


def correlations(X: Floats, source: Sequence[str], columns: Sequence[str]) -> Floats:
    """Of each pair of `columns` (p, p), from 0 to 1; 1 on the diagonal."""
    owner = np.array(source)
    bases = [_basis(X[:, owner == name]) for name in columns]
    sizes = np.array([max(1, basis.shape[1]) for basis in bases])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    Q = np.column_stack(bases)
    squares = (Q.T @ Q) ** 2
    total = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
    R = np.sqrt(np.clip(total / np.maximum(sizes[:, None], sizes), 0, 1))
    np.fill_diagonal(R, 1.0)
    return R


def _basis(part: Floats) -> Floats:
    """An orthonormal basis (n, k) of the centred ranks; one column of zeros where none varies."""
    ranks = rankdata(part, axis=0)
    ranks -= ranks.mean(axis=0)
    U, s, _ = np.linalg.svd(ranks, full_matrices=False)
    kept = s > RANK * max(s[0] if len(s) else 0.0, 1e-300)
    return U[:, kept] if kept.any() else np.zeros((len(part), 1))
