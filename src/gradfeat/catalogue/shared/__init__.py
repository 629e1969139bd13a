"""What several experiments share: trials, curves, figures and claims of one kind."""
