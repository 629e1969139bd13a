"""Shape and type annotations of the numerical layers are checked in every test."""

from __future__ import annotations

from jaxtyping import install_import_hook

install_import_hook(["gradfeat.maths", "gradfeat.models"], "typecheck.checked")
