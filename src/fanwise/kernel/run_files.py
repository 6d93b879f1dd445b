"""Where a run keeps its files: recordings, patches, what is too big for the journal.

Beside the journal, so that a resume finds them. What is in them can be made again, so they need
not be as safe as the journal is. A run in memory has a folder for as long as it lasts.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

from fanwise.core.paths import path_part
from fanwise.errors import UsageError
from fanwise.journal.open import journal_path
from fanwise.journal.port import Journal
from fanwise.kernel.in_thread import thread_context
from fanwise.kernel.run import Run
from fanwise.kernel.scope import item_of
from fanwise.private_files import make_folder


def files_of(run: Run) -> AbstractAsyncContextManager[Path]:
    """The folder of a run, or of the step of a workflow that this is."""
    return thread_context(_files(kept_files(run)))


@contextmanager
def _files(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        make_folder(kept)
        yield kept
        return
    folder = Path(tempfile.mkdtemp(prefix="fanwise-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kept_files(run: Run) -> Path | None:
    """That folder, if it outlives the run; None: nothing of the run does."""
    folder = None if run.journal is None else kept_beside(run.journal, run.id)
    around = item_of(run)
    return folder if around is None or folder is None else folder / path_part(around.path)


def check_kept_files(location: str | None) -> None:
    """Before a run is made: whether a file is where its folder goes. `UsageError`."""
    path = journal_path(location)
    files = path.with_name(f"{path.name}.files")
    if files.exists() and not files.is_dir():
        raise UsageError(
            f"{files} is in the way: the files of runs go into a directory of that name",
            "Move it, or name another journal with --journal",
        )


def kept_beside(journal: Journal, run_id: str) -> Path | None:
    """The folder of a run of this journal; None: it is in no file."""
    file = Path(journal.location)
    return file.with_name(f"{file.name}.files") / run_id if file.is_file() else None
