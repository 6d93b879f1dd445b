"""Record the target's calls in a test run, and choose which of them to keep.

The calls are pickled bytes that only child processes read. Here they are lines of a file, sampled
and identified by a digest, so that nobody can exchange them later.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fanwise.kernel.confined.settings import Settings
from fanwise.kernel.in_thread import in_thread
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import Where, run_line, site_of

CALLS = "calls.jsonl"
ROOT = "{root}"
"""Stands for the top of the checkout in paths."""


class CallRecording(msgspec.Struct, frozen=True, kw_only=True):
    """A handle on recorded calls. JSON-able; the calls are in `folder`."""

    folder: str
    calls: int
    """How many different calls were kept."""
    seen: int
    inner: int = 0
    """How many of them it made itself, by recursion."""
    distinct: int = 0
    """How many different calls there were, of those that were looked at."""
    unstorable: Mapping[str, int] = {}
    """How many calls could not be stored, by reason."""
    module: str = ""
    """The module's name in the tests."""
    python: str = ""
    """The interpreter of the tests."""
    path: tuple[str, ...] = ()
    """Its import path."""
    digest: str = ""
    slowest_s: float = 0.0
    """What the slowest of the kept calls took, in the tests."""

    @property
    def from_outside(self) -> int:
        """How many calls others made: the same for every version that does the same."""
        return self.seen - self.inner

    @property
    def repeats(self) -> bool:
        """Whether a call may have been made more than once."""
        return self.distinct < self.seen

    @property
    def file(self) -> str:
        """The recorded calls, a line of JSON for each."""
        return str(Path(self.folder) / CALLS)

    def intact(self) -> bool:
        """Whether the file of calls is unchanged."""
        return self.digest == digest_of(Path(self.file))

    def how(self, root: str, file: str, name: str) -> dict[str, Any]:
        """What a child needs to find the function in a checkout, and the calls."""
        path = [each.replace(ROOT, root) for each in self.path]
        where = {"path": path, "module": self.module, "file": str(Path(root) / file)}
        return {**where, "name": name, "root": root, "calls": self.file}

    def notes(self) -> list[str]:
        """What was recorded, and what could not be."""
        if not self.seen:
            return ["the tests do not call it"]
        told = [f"{self.calls} different calls kept of {self.seen}"]
        told += [f"{count} not kept: {why}" for why, count in self.unstorable.items()]
        return told


def digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def gather(folder: Path, root: str, *, most: int, seed: int) -> CallRecording:
    """Choose among what all processes of a test run have recorded, and keep that."""
    heads: list[dict[str, Any]] = []
    kept: dict[str, dict[str, Any]] = {}
    seen = distinct = inner = 0
    unstorable: dict[str, int] = {}
    for file in sorted(folder.glob("calls-*.jsonl")):
        head, rows, told = _read(file)
        heads += [head] if head else []
        chosen = _reservoir(rows, most, seed)
        kept.update((row["call"], row) for row in chosen)
        seen += told["counts"].get("seen", 0)
        distinct += told["counts"].get("distinct", 0)
        inner += told["counts"].get("inner", 0)
        for why, count in told["unstorable"].items():
            unstorable[why] = unstorable.get(why, 0) + count
        file.unlink()
    rows = _spread(list(kept.values()), most, seed)
    (folder / CALLS).write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    head = heads[0] if heads else {"module": "", "python": "", "path": []}
    return CallRecording(
        folder=str(folder),
        calls=len(rows),
        seen=seen,
        inner=inner,
        distinct=distinct,
        unstorable=unstorable,
        module=head["module"],
        python=head["python"],
        path=tuple(_relocatable(head["path"], root)),
        digest=digest_of(folder / CALLS),
        slowest_s=max((row.get("seconds", 0.0) for row in rows), default=0.0),
    )


def _read(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    head: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    follow: dict[str, list[str]] = {}
    told: dict[str, Any] = {"counts": {}, "unstorable": {}}
    for line in file.read_bytes().splitlines():
        try:
            row = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue  # the process was killed in the midst of a line
        if "module" in row:
            head = row
        elif "counts" in row:
            told = row
        elif "of" in row:
            follow.setdefault(row["of"], []).append(row["follow"])
        else:
            rows.append(row)
    for row in rows:
        row |= {"follow": _longest(follow[row["name"]])} if row.get("name") in follow else {}
    return head, rows, told


def _longest(chains: list[str]) -> list[str]:
    """Chains of calls that no other one goes on with; see `THEN` in `injected/…/pickling.py`."""
    return [each for each in chains if not any(one.startswith(f"{each}|") for one in chains)]


def _reservoir(rows: list[dict[str, Any]], most: int, seed: int) -> list[dict[str, Any]]:
    """Let late ones take the place of others, as `recorder.py` has drawn them."""
    rng = random.Random(seed)
    kept: list[dict[str, Any]] = []
    for row in rows:
        if len(kept) < most:
            kept.append(row)
        else:
            kept[rng.randrange(most)] = row
    return kept


def _spread(rows: list[dict[str, Any]], most: int, seed: int) -> list[dict[str, Any]]:
    if len(rows) <= most:
        return rows
    picks = sorted(random.Random(seed).sample(range(len(rows)), most))
    return [rows[pick] for pick in picks]


def _relocatable(path: list[str], root: str) -> Iterator[str]:
    for each in path:
        if each == root or each.startswith(f"{root}/"):
            yield ROOT + each[len(root) :]


MOST = 64
"""How many different calls are kept."""
_SECONDS = 20.0
_BYTES = 64 << 20
_BYTES_EACH = 1 << 20


async def record(
    where: Where, target: Target, line: str, settings: Settings, into: Path, *, seed: int = 0
) -> CallRecording:
    """Run a test command on what stands in a checkout, and record the target's calls `into`."""
    root, folder = await in_thread(_ready, where, into)
    how = _how(root, target, folder, seed)
    env = {"FANWISE_RECORD": msgspec.json.encode(how).decode()}
    await run_line(where, line, env, settings, str(folder))
    return await in_thread(gather, folder, str(root), most=MOST, seed=seed)


def _ready(where: Where, into: Path) -> tuple[Path, Path]:
    into.mkdir(parents=True, exist_ok=True)
    return Path(site_of(where).root).resolve(), into.resolve()


def _how(root: Path, target: Target, folder: Path, seed: int) -> dict[str, object]:
    return {
        "file": str((root / target.file).resolve()),
        "name": target.name,
        "into": str(folder),
        "most": MOST,
        "seconds": _SECONDS,
        "bytes": _BYTES,
        "bytes_each": _BYTES_EACH,
        "seed": seed,
    }
