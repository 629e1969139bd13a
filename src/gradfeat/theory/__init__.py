"""Closed forms of the papers: NumPy and SciPy, numbers in and numbers out.

Of one gradient step (Moniri24): phi = d/n and psi = d/N, above 0; `penalty` is lambda of
(1/n)|y - F a|^2 + lambda |a|^2, above 0; `activation` is sigma, `teacher` the target, and
`residual`, one of "y", "y - f0" and "ba22", weights the gradient. Numbers broadcast.
"""
