"""Gradient descent on two-layer networks, stacked over seeds, gradients in closed form."""
