"""Feature learning in two-layer networks and kernel machines."""

__version__ = "0.1.0"
