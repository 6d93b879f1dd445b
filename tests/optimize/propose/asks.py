"""Asks for tests."""

from __future__ import annotations

from typing import Any

from fanwise.optimize.propose.port import ProposalRequest

SOURCE = '''@traced
def find(items, *, key=None):
    """The least."""
    if not items:
        raise ValueError("nothing to find")
    return sorted(items, key=key)[0]
'''
FILE = f"import os\n\nLIMIT = 3\n\n\n{SOURCE}\n\ndef other():\n    return find([LIMIT])\n"
FAST = "def find(items, *, key=None):\n    return min(items, key=key)\n"
PATCH = "--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-slow\n+fast\n"


def an_ask(**more: Any) -> ProposalRequest:
    given = {"target": "src/pkg/find.py::find", "source": SOURCE, "file": FILE, **more}
    return ProposalRequest(**given)


def asks(n: int) -> list[ProposalRequest]:
    """One ask for each of n proposals."""
    return [an_ask(n=n, number=number) for number in range(n)]
