"""Shape and type annotations of the numerical layers are checked in every test.

Property tests take fixed draws, so that a test fails by a change and never by chance. Random ones
come with ``--hypothesis-profile random``, as in `make test-all`; what they find is pinned with
``@example``. No profile has a deadline: how fast a machine is decides no test.
"""

from __future__ import annotations

from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook(["gradfeat.maths", "gradfeat.models"], "typecheck.checked")

settings.register_profile("gate", derandomize=True, database=None, deadline=None)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("gate")
