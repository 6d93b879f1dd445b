"""Every error that fanwise raises, in one tree.

::

    FanwiseError
    ├── UsageError (ValueError)        what the caller gave cannot work; nothing more is started
    │   ├── BadCap                     a cap, rate or budget that is not a positive number
    │   ├── UnknownCap                 needs name a cap that nobody declared
    │   ├── ImpossibleNeeds            an item needs more of a cap than there is
    │   ├── NestedCap                  an item that holds a cap fans out into the same cap
    │   ├── DuplicateKey               two items of one fan-out have the same key
    │   ├── DuplicateName              two fan-outs of one run have the same name
    │   ├── BadPredicate               a predicate raised, or did not answer with a bool
    │   ├── BadVerdict                 a requirement answered with something that is no verdict
    │   ├── NotStorable                a value that the codec cannot write
    │   ├── BadRunId                   a run id that is not a plain name
    │   ├── BadSpec                    a file with problems, each with its line, column and field
    │   ├── BadExpression              `{{ … }}` that does not parse, or cannot be computed
    │   ├── UnknownModel               a model's name that says no known provider
    │   ├── ModelNotReady              a model whose key, extra or weights are missing; names them
    │   ├── NoFreeWorkspace            more work in workspaces at once than there are
    │   ├── UnknownCost                a budget of dollars, and a call whose price nobody knows
    │   ├── BadTarget                  a target of `optimize` that is no function of a Python file
    │   ├── NoCandidates               there is nothing for `optimize` to judge
    │   └── NotRecorded                a replay was asked for what it did not record
    ├── ItemsError                     the iterable of items raised; `.outcomes` has what ran
    ├── AttemptTimeout (TimeoutError)  an attempt took longer than its time-out
    ├── DeadlinePassed (TimeoutError)  the whole took longer than it was given
    ├── RateLimited                    the other side said "too many"; `.retry_after` in seconds
    ├── ModelError                     a language model gave no reply that can be used
    │   ├── ModelRateLimited           (also a RateLimited) worth a retry, after `.retry_after`
    │   ├── ModelOverloaded            it cannot serve now (5xx); worth a retry
    │   ├── ModelUnreachable           no connection, or it broke; worth a retry
    │   ├── ModelQuota                 the account is used up; no retry helps
    │   ├── ModelRejected              a bad request, a wrong key, no such model; no retry helps
    │   ├── ModelRefused               a content filter, or the model would not
    │   ├── ModelNotStarted            a local model's server did not come up; `.log` says why
    │   └── BadOutput                  the reply does not parse or does not match the schema
    ├── PullFailed                     weights did not come from the package index
    │   └── WrongDigest                they are not those that they should be; nothing is kept
    ├── BudgetExceeded                 the budget has no room for what was about to be spent
    ├── CommandFailed                  a child process did not exit with code 0
    ├── WorkspaceError                 a workspace could not be made, reset or used
    │   ├── GitFailed                  git said no; `.said` has its words
    │   ├── NoWorkspaces               not one of the slots of a pool could be made
    │   └── PatchFailed                a patch does not apply to the workspace
    ├── CandidateUnfit                 a candidate that cannot be put into a workspace; `.reason`
    ├── StepFailed                     a step of a workflow failed; `.result` is its output
    ├── RecordedError                  an error read back from the journal: its type and text
    └── JournalError                   what is on disk cannot be read or written
        ├── JournalUnreadable          not a journal, or damaged
        ├── JournalTooNew              written by a newer fanwise
        ├── JournalNotWritable         read-only, full, or locked by another program
        ├── OutputNotWritable          a file or stdout that output goes to takes no more
        ├── RunNotFound (LookupError)  no run with that id
        ├── RunExists                  a new run was asked for under an id that is taken
        ├── RunIsLive                  another process is executing the run
        └── SpecChanged                the run was started with another spec

Errors carry fields, so that a program can act on them, and a `next_step`, so that a person can.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple


class FanwiseError(Exception):
    """The root of the tree."""

    def __init__(self, message: str, next_step: str = "") -> None:
        self.message = message
        self.next_step = next_step
        super().__init__(f"{message}. {next_step}" if next_step else message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


def _rebuild(
    cls: type[FanwiseError], args: tuple[Any, ...], fields: dict[str, Any]
) -> FanwiseError:
    """Let errors travel between processes although their constructors differ."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class UsageError(FanwiseError, ValueError):
    """What the caller gave cannot work.

    Arguments are checked before anything is run or written; what `key`, `needs` or a predicate
    says of an item, when that item comes: then everything in flight is ended first.
    """


class BadCap(UsageError):
    """A cap, rate or budget that is not a positive number."""

    def __init__(self, name: str, given: object, wanted: str = "a whole number of at least 1"):
        self.name = name
        self.given = given
        super().__init__(f"{name} is {given!r}", f"Give {wanted}")


class UnknownCap(UsageError):
    """Needs name a cap that nobody declared."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = sorted(known)
        close = get_close_matches(name, self.known, n=1)
        if close:
            step = f"Did you mean {close[0]!r}?"
        elif self.known:
            step = f"Known caps: {', '.join(self.known)}"
        else:
            step = f"No caps were declared: pass caps=Caps({name}=…)"
        super().__init__(f"unknown cap {name!r}", step)


class ImpossibleNeeds(UsageError):
    """An item needs more of a cap than there is, so it would wait for ever."""

    def __init__(self, name: str, units: int, limit: int) -> None:
        self.name = name
        self.units = units
        self.limit = limit
        super().__init__(
            f"an item needs {units} of cap {name!r}, which has only {limit}",
            "Raise the cap or lower the need",
        )


class NestedCap(UsageError):
    """An item that holds a cap waits inside for the same cap, or in the opposite order."""

    def __init__(self, name: str, held: Iterable[str]) -> None:
        self.name = name
        self.held = sorted(held)
        if name in self.held:
            message = f"cap {name!r} is needed inside an item that already holds {name!r}"
        else:
            message = (
                f"cap {name!r} is needed while holding {', '.join(map(repr, self.held))}, "
                "and elsewhere the other way round"
            )
        super().__init__(
            f"{message}: this can deadlock",
            "Let only the innermost work need the cap, or give the two levels caps of their own",
        )


class DuplicateKey(UsageError):
    """Two items of one fan-out have the same key."""

    def __init__(self, key: str, index: int) -> None:
        self.key = key
        self.index = index
        super().__init__(
            f"item {index} has the key {key!r} of an earlier item",
            "Give key= a function whose result differs for each item",
        )


class DuplicateName(UsageError):
    """Two fan-outs of one run have the same name, so resume could not tell them apart."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"this run already has a fan-out at {path!r}", "Give each fan-out a name of its own"
        )


class BadPredicate(UsageError):
    """A predicate or another function of the caller's raised, or did not answer as it must."""

    def __init__(self, what: str, index: int, problem: str, of: str = "item") -> None:
        self.what = what
        self.index = index
        super().__init__(
            f"{what} {problem} at {of} {index}", "Mend the function; the cause is below"
        )


class BadVerdict(UsageError):
    """A requirement answered with something that is no verdict: nothing is taken for a yes."""

    def __init__(self, requirement: str, answer: object, wanted: str) -> None:
        self.requirement = requirement
        self.answer = answer
        super().__init__(f"the requirement {requirement!r} gave {answer!r}", f"Return {wanted}")


class NotStorable(UsageError):
    """A value that the codec cannot write."""

    def __init__(self, what: str, type_name: str, problem: str = "") -> None:
        self.what = what
        self.type_name = type_name
        detail = f" ({problem})" if problem else ""
        super().__init__(
            f"{what} is a {type_name}, which JSON cannot hold{detail}",
            "Return plain data, or give open_run a codec",
        )


class BadRunId(UsageError):
    """A run id that is not a plain name."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"{run_id!r} is not a run id",
            "Use 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )


class Problem(NamedTuple):
    """One thing that is wrong in a file, and where; `line` and `column` count from 1."""

    line: int | None
    column: int | None
    field: str
    """As in `sample.requirements[2].check`; empty: the file as a whole."""
    message: str

    def at(self, file: str) -> str:
        """In a line, as compilers write it: editors know this form."""
        places = [str(number) for number in (self.line, self.column) if number is not None]
        where = ":".join([file, *places])
        return ": ".join(part for part in (where, self.field, self.message) if part)


class BadSpec(UsageError):
    """A file that somebody wrote cannot be used as it is. All its problems are in `problems`."""

    MOST = 10
    """Problems that are told of."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = sorted(problems, key=lambda each: (each.line or 0, each.column or 0))
        told = [problem.at(file) for problem in self.problems[: self.MOST]]
        if len(self.problems) > 1:
            told = [f"{file} has {len(self.problems)} problems", *(f"  {each}" for each in told)]
        if len(self.problems) > self.MOST:
            told.append(f"  … and {len(self.problems) - self.MOST} more")
        super().__init__("\n".join(told))


class BadExpression(UsageError):
    """What stands in `{{ }}` does not parse, or cannot be computed with the values that it got."""

    def __init__(
        self, text: str, problem: str, position: int | None = None, next_step: str = ""
    ) -> None:
        self.text = text
        self.problem = problem
        self.position = position
        """Where in the text, counted from 0; None: the whole."""
        super().__init__(f"{self._place()}: {problem}", next_step)

    def inside(self, text: str, offset: int) -> BadExpression:
        """The same error, of a longer text in which this one begins at `offset`."""
        at = None if self.position is None else self.position + offset
        return BadExpression(text, self.problem, at, self.next_step)

    def _place(self) -> str:
        """The line of the text that is meant, and where in it, if it has more than a few words."""
        at = self.position or 0
        begin = self.text.rfind("\n", 0, at) + 1
        line = self.text[begin:].partition("\n")[0]
        told = line if len(line) <= 80 else f"…{line[max(0, at - begin - 20) :][:60]}…"
        number = self.text.count("\n", 0, at) + 1
        where = [f"line {number}"] if "\n" in self.text else []
        where += [f"character {at - begin + 1}"] if self.position is not None else []
        return f"`{told.strip()}`" + (f", {', '.join(where)}" if where else "")


class UnknownModel(UsageError):
    """A model's name that says no known provider."""

    def __init__(self, name: str, problem: str, next_step: str) -> None:
        self.name = name
        super().__init__(f"{name!r} {problem}", next_step)


class ModelNotReady(UsageError):
    """A model whose key, extra or weights are missing.

    It names the variable and the extra, never a key. `step`: all that is missing, where it is
    neither of the two.
    """

    def __init__(
        self, name: str, missing: str, variable: str | None, extra: str, *, step: str | None = None
    ) -> None:
        self.name = name
        self.missing = missing
        self.variable = variable
        self.extra = extra
        steps = [step or f"pip install 'fanwise[{extra}]'"]
        if variable is not None:
            steps.append(f"set {variable}")
        super().__init__(f"{name} cannot be used: {missing}", f"It needs: {'; '.join(steps)}")


class UnknownCost(UsageError):
    """A budget counts dollars, and nobody knows what the call may cost: 0 would be a lie."""

    def __init__(self, kind: str, limit: float) -> None:
        self.kind = kind
        self.limit = limit
        super().__init__(
            f"a budget of {limit:g} {kind} cannot be kept: the price of this call is unknown",
            "Say the model's price, or give a budget of tokens",
        )


class NotRecorded(UsageError):
    """A replay was asked for what it did not record, or more often than it recorded it."""

    def __init__(self, path: str, difference: str) -> None:
        self.path = path
        self.difference = difference
        super().__init__(
            f"{path} has no such request: {difference}", "Record it anew, or ask what was recorded"
        )


class ItemsError(FanwiseError):
    """The iterable of items raised. What had been pulled before was run to its end."""

    def __init__(self, pulled: int, outcomes: Any) -> None:
        self.pulled = pulled
        self.outcomes = outcomes
        super().__init__(
            f"the items raised after {pulled} had been pulled",
            "The cause is below; the outcomes of the items before it are in .outcomes",
        )


class AttemptTimeout(FanwiseError, TimeoutError):
    """An attempt took longer than its time-out."""

    def __init__(self, seconds: float, result: Any = None) -> None:
        self.seconds = seconds
        self.result = result
        """What a command had given until then."""
        super().__init__(f"timed out after {seconds:g} s")


class DeadlinePassed(FanwiseError, TimeoutError):
    """The whole took longer than it was given; what was in flight was cancelled."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        super().__init__(f"the deadline of {deadline:g} s has passed", "Give it more time")


class RateLimited(FanwiseError):
    """The other side said "too many requests". Adaptive caps shrink on it."""

    def __init__(self, message: str = "rate limited", retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        step = "" if retry_after is None else f"Retry after {retry_after:g} s"
        super().__init__(message, step)


class ModelError(FanwiseError):
    """A language model gave no reply that can be used.

    `input_tokens` (of these, `cached_tokens` from the provider's cache), `output_tokens` and `usd`
    are what the attempt cost all the same: 0 where the provider served nothing, None where nobody
    can know.
    """

    cached_tokens: int = 0
    """Also of an error in a recording that was made before there was this field."""

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int = 0,
        usd: float | None = None,
        next_step: str = "",
    ) -> None:
        self.provider = provider
        self.model = model
        self.status = status
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.cached_tokens = cached_tokens
        self.usd = usd
        FanwiseError.__init__(self, message, next_step)  # not `super`: see ModelRateLimited


class ModelRateLimited(ModelError, RateLimited):
    """The provider said "too many requests": wait `retry_after` seconds, if it said so."""

    def __init__(self, message: str, *, retry_after: float | None = None, **fields: Any) -> None:
        self.retry_after = retry_after
        if retry_after is not None:
            fields["next_step"] = f"Retry after {retry_after:g} s"
        ModelError.__init__(self, message, **fields)


class ModelOverloaded(ModelError):
    """The provider cannot serve the request now (5xx, 529). Worth a retry."""

    def __init__(self, message: str, *, retry_after: float | None = None, **fields: Any) -> None:
        self.retry_after = retry_after
        super().__init__(message, **fields)


class ModelUnreachable(ModelError):
    """There was no connection, or it broke before the reply was complete. Worth a retry."""


class ModelQuota(ModelError):
    """The account's credit or quota is used up. No retry helps."""


class ModelRejected(ModelError):
    """The provider rejects the request itself: malformed, wrong key, no such model."""


class ModelRefused(ModelError):
    """A content filter cut in, or the model would not answer."""


class ModelNotStarted(ModelError):
    """The server of a local model did not come up. `log` is the last that it said."""

    def __init__(self, name: str, problem: str, file: str, log: str) -> None:
        self.file = file
        self.log = log
        said = " and said: " + " | ".join(log.split("\n")) if log else ""
        super().__init__(
            f"{name} cannot be used: its server {problem}{said}",
            provider="local",
            model=name,
            input_tokens=0,
            output_tokens=0,
            usd=0.0,
            next_step=f"See that llama.cpp can load {file}, and that there is memory for it",
        )


class BadOutput(ModelError):
    """The reply does not parse, or does not match the schema. `text` is what the model said.

    The rest is as in a reply: it came, and was paid for, and may be worth a repair.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str,
        first_token_s: float | None = None,
        ran_s: float = 0.0,
        finish_reason: str | None = None,
        **fields: Any,
    ) -> None:
        self.text = text
        self.first_token_s = first_token_s
        self.ran_s = ran_s
        self.finish_reason = finish_reason
        super().__init__(message, **fields)


class PullFailed(FanwiseError):
    """Weights could not be pulled. What was there before is as it was."""

    def __init__(self, name: str, problem: str, next_step: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"cannot pull {name}: {problem}", next_step)


class WrongDigest(PullFailed):
    """What came is not what was asked for; it was not kept."""

    def __init__(self, name: str, source: str, wanted: str, found: str) -> None:
        self.source = source
        self.wanted = wanted
        self.found = found
        super().__init__(
            name,
            f"what {source} has for it has the SHA-256 {found} and not {wanted}",
            "It was not kept. See where that file comes from",
        )


class BudgetExceeded(FanwiseError):
    """The budget has no room for what was about to be spent; it was not spent."""

    def __init__(self, what: str, limit: float, spent: float, wanted: float) -> None:
        self.what = what
        self.limit = limit
        self.spent = spent
        self.wanted = wanted
        super().__init__(
            f"budget of {limit:g} {what}: {spent:g} spent, {wanted:g} more needed",
            "Raise the budget and resume",
        )


class CommandFailed(FanwiseError):
    """A child process exited with a code other than 0, or by a signal."""

    def __init__(self, result: Any, summary: str) -> None:
        self.result = result
        super().__init__(summary)


class NoFreeWorkspace(UsageError):
    """Somebody took a workspace while all were in use: nothing bounds those who take them."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        super().__init__(
            f"all {slots} workspaces are in use",
            f"Give the items that use them a cap: caps=Caps(workspaces={slots}) and "
            'needs=lambda item: "workspaces"',
        )


class WorkspaceError(FanwiseError):
    """A workspace could not be made, reset or used."""


class GitFailed(WorkspaceError):
    """A git command failed. `said` is what it wrote to stderr."""

    def __init__(self, command: str, said: str) -> None:
        self.command = command
        self.said = said
        super().__init__(f"{command} failed: {said or 'it said nothing'}")


class NoWorkspaces(WorkspaceError):
    """Not one of the slots of a pool could be made; `reasons` says why, for each."""

    def __init__(self, repo: str, reasons: Iterable[str]) -> None:
        self.repo = repo
        self.reasons = list(reasons)
        why = "; ".join(dict.fromkeys(self.reasons))
        super().__init__(
            f"no workspace of {repo} could be made: {why}",
            "See that `git worktree add` works there",
        )


class PatchFailed(WorkspaceError):
    """A patch does not apply; nothing of it was applied. `said` is git's reason."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__(
            f"the patch does not apply: {said}",
            "Make it with `git diff` against the commit that the workspaces start from",
        )


class BadTarget(UsageError):
    """A target of `optimize` that is no function of a Python file."""

    def __init__(self, target: str, problem: str, next_step: str) -> None:
        self.target = target
        super().__init__(f"the target {target}: {problem}", next_step)


class NoCandidates(UsageError):
    """There is nothing to judge; `looked_for` says what was looked for."""

    def __init__(self, looked_for: str, next_step: str) -> None:
        self.looked_for = looked_for
        super().__init__(f"there are no candidates: {looked_for}", next_step)


class CandidateUnfit(FanwiseError):
    """A candidate cannot be put into a workspace as it is: it does not apply, or may not."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class StepFailed(FanwiseError):
    """A step of a workflow failed; what it gave all the same is its `result`."""

    def __init__(self, message: str, result: Any = None) -> None:
        self._result = result  # recorded as the item's value, so not once more with the error
        super().__init__(message)

    @property
    def result(self) -> Any:
        """JSON-able: the output that it had until then."""
        return self._result


class RecordedError(FanwiseError):
    """An error read back from the journal. Its original object is gone; type and text remain."""

    def __init__(self, type_name: str, text: str, fields: dict[str, Any] | None = None) -> None:
        self.type_name = type_name
        self.text = text
        self.fields = fields or {}
        super().__init__(f"{type_name}: {text}" if text else type_name)


def one_line(error: BaseException) -> str:
    """Kind and text, the same for an error that was just raised as for one that was read back.

    Of a group, what is in it, each once.
    """
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(one_line(each) for each in error.exceptions))
    if isinstance(error, RecordedError):
        kind, text = error.type_name.rpartition(".")[2], error.text
    else:
        kind, text = type(error).__name__, str(error)
    return " ".join(f"{kind}: {text}".split()) if text else kind


class JournalError(FanwiseError):
    """What is on disk cannot be read or written."""


class JournalUnreadable(JournalError):
    """Not a journal, or damaged."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        super().__init__(
            f"{path} is not a readable journal: {problem}",
            "Nothing was changed; move the file away, or name another with --journal",
        )


class JournalTooNew(JournalError):
    """Written by a newer fanwise."""

    def __init__(self, path: str, found: str, known: str) -> None:
        self.path = path
        self.found = found
        self.known = known
        super().__init__(
            f"{path} has schema version {found}; this fanwise knows up to {known}",
            "Upgrade fanwise, or name another journal with --journal",
        )


class JournalNotWritable(JournalError):
    """Read-only, full, or locked by another program. What was recorded before is safe.

    `opening`: nothing has been written since it was opened, so there is nothing to resume.
    """

    def __init__(self, path: str, problem: str, *, opening: bool = False) -> None:
        self.path = path
        super().__init__(
            f"cannot write to {path}: {problem}",
            "Nothing was started; free space or permissions, or name another with --journal"
            if opening
            else "What was recorded is safe; free space or permissions, then resume",
        )


class OutputNotWritable(JournalError):
    """A file that a command's output goes to, or stdout, takes no more.

    It says nothing of the item whose output it was: the run ends without an outcome for it, and a
    resume runs it again.
    """

    def __init__(self, what: str, problem: str, next_step: str = "") -> None:
        self.what = what
        super().__init__(
            f"cannot write to {what}: {problem}",
            next_step or "What was recorded is safe; free space or permissions, then resume",
        )


class RunNotFound(JournalError, LookupError):
    """No run with that id."""

    def __init__(self, run_id: str, known: Iterable[str] = ()) -> None:
        self.run_id = run_id
        close = get_close_matches(run_id, list(known), n=1)
        step = f"Did you mean {close[0]!r}?" if close else "`fanwise runs` lists them"
        super().__init__(f"there is no run {run_id!r}", step)


class RunExists(JournalError):
    """A new run was asked for under an id that is taken."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"run {run_id!r} exists already", f"Choose another id, or: fanwise resume {run_id}"
        )


class RunIsLive(JournalError):
    """Another process is executing the run."""

    def __init__(self, run_id: str, owner: str, *, seen: bool = True) -> None:
        self.run_id = run_id
        self.owner = owner
        if seen:
            message = f"run {run_id!r} is being executed by {owner}"
            step = f"Wait for it, or end it with: fanwise cancel {run_id}"
        else:
            message = f"run {run_id!r} belongs to {owner}, which cannot be seen from here"
            step = f"If you know that it is dead: fanwise resume {run_id} --take-over"
        super().__init__(message, step)


class SpecChanged(JournalError):
    """The run was started with another spec, so its outcomes do not belong to this one."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"run {run_id!r} was started with a different spec",
            "Start a new run, or resume with the spec that it has",
        )
