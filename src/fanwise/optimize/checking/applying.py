"""Whether a candidate can be put into a workspace."""

from __future__ import annotations

import time
from collections.abc import Collection

from fanwise.errors import CandidateUnfit
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.placement import Placement, place
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.checking.finding import Finding
from fanwise.workspaces import Workspace


def check_applies(
    workspace: Workspace,
    candidate: Candidate,
    target: Target | None,
    *,
    judges: Collection[str] = (),
) -> tuple[Finding, Placement | None]:
    """Put it there, and say whether that could be done. Sync: it runs git."""
    began = time.perf_counter()
    placed, ok, reason = None, True, ""
    try:
        placed = place(workspace, candidate, target, judges=judges)
    except CandidateUnfit as error:
        ok, reason = False, error.reason
    else:
        if placed.left_out:
            reason = f"its changes to {', '.join(placed.left_out)} are left out: these judge it"
    return Finding(stage="apply", ok=ok, reason=reason, seconds=time.perf_counter() - began), placed
