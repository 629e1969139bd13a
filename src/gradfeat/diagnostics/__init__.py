"""What neurons and gradients look like: plain tensors in, plain values out."""
