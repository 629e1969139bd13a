"""Networks on given directions and a grid of biases, and the least loss of their class."""
