"""Running untrusted code in a workspace: with limits, in a sandbox, and without any keys."""

from fanwise.kernel.confined.ending import ending_of, hint_of
from fanwise.kernel.confined.running import confined, run_in_workspace, scratch_folder
from fanwise.kernel.confined.settings import Settings

__all__ = [
    "Settings",
    "confined",
    "ending_of",
    "hint_of",
    "run_in_workspace",
    "scratch_folder",
]
