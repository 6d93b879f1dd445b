"""One leaf of a plan: from its prompt to what it changed, or to why it could not."""

from fanwise.plan.work.how import How
from fanwise.plan.work.leaf import do_leaf
from fanwise.plan.work.port import Ask, Worked, Worker

__all__ = ["Ask", "How", "Worked", "Worker", "do_leaf"]
