"""Commands of the lab, and `show`: their words in `commands`, what they do beside it."""

from pathlib import Path

#: Where results are kept unless ``--store`` says otherwise.
STORE = Path("gradfeat.sqlite")
