"""A language model that does the work: it is shown the files, and answers with edits.

One call for one try, within the caps, rates and budget around. An answer is applied as a whole or
not at all: all of it must parse, be within the lease, and fit the files as they are. What is wrong
with it is told to the model in the next try.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fanwise.core.retry import Retry
from fanwise.errors import ModelError, ModelQuota, ModelRejected, WorkFailed, one_line
from fanwise.kernel.in_thread import in_thread
from fanwise.models import MODEL_RETRY, Model, Options, Reply, Request, ask
from fanwise.models.port import Message
from fanwise.plan.work.apply_edits import edited, path_of, read_text, write_all
from fanwise.plan.work.captured_output import tail
from fanwise.plan.work.context import BYTES_A_TOKEN
from fanwise.plan.work.edits import BadAnswer, ParsedAnswer, read_answer
from fanwise.plan.work.lease import sort_by_lease
from fanwise.plan.work.port import LeafWorker, WorkRequest, WorkResult, in_time
from fanwise.plan.work.prompt import quoted, shown
from fanwise.plan.work.subplans import BadForm, subplans_of
from fanwise.workspaces import Workspace

FILE_TOKENS = 100_000
"""The most of a leaf's files that a question holds."""

SYSTEM = """\
You edit files of a repository. You answer with edits, and they are applied exactly as you write
them. Before each block stands a line that says what it is:

FILE: path/of/the/file
```
the whole text of the file, new or changed
```

EDIT: path/of/the/file
```
<<<<<<< SEARCH
lines that stand in the file exactly once, copied exactly
=======
lines that come in their place
>>>>>>> REPLACE
```

DELETE: path/of/the/file

One EDIT may have several SEARCH/REPLACE parts. If a text has ``` in it, use a longer fence around
it. If there is nothing to do, answer with the one word NOTHING on a line of its own. Use no other
blocks."""
_SPLITTING = """\
Instead of edits you may answer with parts of the work: a line `SUBPLANS:` and a block with JSON."""


class ModelWorker(LeafWorker):
    """Asks a model for each try. `file_tokens`: the most of its files that it is shown."""

    def __init__(
        self,
        model: Model,
        *,
        options: Options = Options(),  # noqa: B008 - frozen
        retry: Retry = MODEL_RETRY,
        file_tokens: int = FILE_TOKENS,
    ) -> None:
        self._model = model
        self._options = options
        self._retry = retry
        self._file_tokens = file_tokens

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def splitting(self) -> str:
        return _SPLITTING

    async def work(self, ask: WorkRequest, workspace: Workspace, scratch: Path) -> WorkResult:
        contents, hidden = await in_thread(files_shown, ask, workspace, self._file_tokens)
        said = f"{contents}\n\n{ask.prompt}"
        async with in_time(ask.timeout):
            reply = await self._reply(ask, said)
        text = reply.text.encode("utf-8", "replace").decode()
        try:
            return await in_thread(self._apply, text, ask, workspace, hidden)
        except (BadAnswer, BadForm) as error:
            cut = " (it was cut off: raise max_tokens)" if reply.finish_reason == "length" else ""
            raise WorkFailed(f"the answer: {error}{cut}", tail(text)) from error

    async def _reply(self, about: WorkRequest, said: str) -> Reply:
        messages = (Message("system", SYSTEM), Message("user", said))
        request = Request(messages, self._options, seed=len(about.tries) + 1)
        try:
            return await ask(self._model, request, retry=self._retry)
        except ModelError as error:
            final = isinstance(error, ModelQuota | ModelRejected)
            raise WorkFailed(tail(one_line(error), 500), final=final) from error

    def _apply(
        self, text: str, ask: WorkRequest, workspace: Workspace, hidden: frozenset[str]
    ) -> WorkResult:
        answer = read_answer(text)
        subplans = subplans_of(answer.subplans, ask)
        notes: list[str] = []
        contents = edited(
            answer.edits,
            names=ask.names,
            read=lambda path: read_text(workspace, path),
            allowed=_allowed(answer, ask, workspace, hidden),
            note=notes.append,
        )
        write_all(workspace, contents)
        said = "\n".join([tail(text), *(f"note: {each}" for each in notes)])
        return WorkResult(said=said, subplans=subplans)


def _allowed(
    answer: ParsedAnswer, ask: WorkRequest, workspace: Workspace, hidden: frozenset[str]
) -> Callable[[str], str]:
    paths = [path_of(edit.name, ask.names) for edit in answer.edits]
    before = workspace.files_at_base()
    own = paths if ask.leaf.is_task else ask.files
    foreign = set(sort_by_lease(paths, own=own, shared=ask.shared, before=before).foreign)

    def why_not(path: str) -> str:
        if path in hidden:
            return "was not shown, and so cannot be changed"
        return "is not one of your files" if path in foreign else ""

    return why_not


def files_shown(ask: WorkRequest, workspace: Workspace, tokens: int) -> tuple[str, frozenset[str]]:
    """The files as they are now, quoted; and those that are not shown: too long, or no text."""
    room = tokens * BYTES_A_TOKEN
    parts = ["# The files as they are now"]
    hidden = set()
    for path, name in zip(ask.files, ask.here, strict=True):
        try:
            text = read_text(workspace, path)
        except BadAnswer:
            hidden.add(path)
            parts.append(f"{shown(name)} is no text, and is not shown.")
            continue
        size = len((text or "").encode("utf-8", "replace"))
        if text is None:
            parts.append(f"{shown(name)} is not there.")
        elif size > room:
            hidden.add(path)
            parts.append(f"{shown(name)} has {size:,} bytes, too many to be shown.")
        else:
            room -= size
            parts.append(f"{shown(name)}:\n\n{quoted(text)}")
    return "\n\n".join(parts), frozenset(hidden)
