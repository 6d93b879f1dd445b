"""The folder of a run, for recordings, patches and whatever is too big for the journal.

It is beside the journal, so that a resume finds it, or in `.fanwise/files` if the journal is on a
server. Its contents can be made again, so they need not be as safe as the journal. A run in memory
has a temporary folder.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

from fanwise.core.paths import path_part
from fanwise.errors import UsageError
from fanwise.journal.open import files_folder
from fanwise.journal.port import Journal
from fanwise.journal.postgres.address import is_postgres
from fanwise.kernel.in_thread import thread_context
from fanwise.kernel.run import Run
from fanwise.kernel.scope import item_of
from fanwise.private_files import make_folder


def files_of(run: Run) -> AbstractAsyncContextManager[Path]:
    """The folder of a run or, inside an item, of that item."""
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
    """That folder, if it outlives the run; None: the run is in memory."""
    folder = None if run.journal is None else kept_beside(run.journal, run.id)
    around = item_of(run)
    return folder if around is None or folder is None else folder / path_part(around.path)


def check_kept_files(location: str | None) -> None:
    """Raise `UsageError` if a file is in the place of a run's folder. Call it before the run."""
    files = files_folder(location)
    if files.exists() and not files.is_dir():
        raise UsageError(
            f"{files} is in the way: the files of runs go into a directory of that name",
            "Move it, or name another journal with --journal",
        )


def kept_beside(journal: Journal, run_id: str) -> Path | None:
    """The folder of a run beside this journal; None: the journal is in memory."""
    is_kept = is_postgres(journal.location) or Path(journal.location).is_file()
    return files_folder(journal.location) / run_id if is_kept else None
