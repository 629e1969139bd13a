"""Mathematics that knows no models: Hermite series, activations, ridge, gradients, blocks."""
