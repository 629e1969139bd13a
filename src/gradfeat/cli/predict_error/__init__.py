"""`gradfeat predict-error`: what one gradient step will bring, before anything is trained."""
