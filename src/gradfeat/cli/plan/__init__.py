"""plan: what a fit to streamed rows will take, before it starts."""
