"""One leaf of a plan: from its prompt to what it changed, or to why it could not."""

from fanwise.plan.work.leaf import do_leaf
from fanwise.plan.work.port import LeafSettings, LeafWorker, WorkRequest, WorkResult

__all__ = ["LeafSettings", "LeafWorker", "WorkRequest", "WorkResult", "do_leaf"]
