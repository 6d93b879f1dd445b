"""Isolated checkouts of a repository, as a pool of slots: work in them never touches the user's.

Everything here is plain and sync, for this layer stands below the kernel: whoever takes a
workspace on an event loop does so with `fanwise.kernel.workspaces`, which has the threads, and
whoever waits for one waits for a cap of the kernel's.
"""

from fanwise.workspaces.interpreter import ProjectPython, environment, interpreter_of
from fanwise.workspaces.pool import Lost, WorkspacePool
from fanwise.workspaces.workspace import Workspace

__all__ = ["Lost", "ProjectPython", "Workspace", "WorkspacePool", "environment", "interpreter_of"]
