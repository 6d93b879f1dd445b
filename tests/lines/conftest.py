from __future__ import annotations

from tests.cli.conftest import place

__all__ = ["place"]
