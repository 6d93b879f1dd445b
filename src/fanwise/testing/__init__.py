"""Public fakes and tools for tests: time, crash points, a journal, workspaces, a model, a server.

They are used by fanwise's own tests, and each fake passes the contract tests of the real thing.
"""

from fanwise.crashpoint import POINTS as CRASH_POINTS
from fanwise.kernel.virtual_time import VirtualDeadlock, run_virtual
from fanwise.testing.folder_workspaces import FolderWorkspace, FolderWorkspaces
from fanwise.testing.gate import Gate
from fanwise.testing.memory_journal import MemoryJournal
from fanwise.testing.recording import Recording
from fanwise.testing.scripted_model import ScriptedModel
from fanwise.testing.scripted_server import Answer, ScriptedServer
from fanwise.testing.virtual_time import virtual_time

__all__ = [
    "CRASH_POINTS",
    "Answer",
    "FolderWorkspace",
    "FolderWorkspaces",
    "Gate",
    "MemoryJournal",
    "Recording",
    "ScriptedModel",
    "ScriptedServer",
    "VirtualDeadlock",
    "run_virtual",
    "virtual_time",
]
