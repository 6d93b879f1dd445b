"""Run the tests with the recorder in their environment, and keep the calls of the target."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.recording import Recording, gather
from fanwise.optimize.differential.running import Where, run_line, site_of

MOST = 64
"""Different calls that are kept."""
_SECONDS = 20.0
_BYTES = 64 << 20
_BYTES_EACH = 1 << 20


async def record(
    where: Where, target: Target, line: str, settings: Settings, into: Path, *, seed: int = 0
) -> Recording:
    """Run a test command on what stands in a checkout, and record the target's calls `into`."""
    root, folder = _ready(where, into)
    how = _how(root, target, folder, seed)
    env = {"FANWISE_RECORD": msgspec.json.encode(how).decode()}
    await run_line(where, line, env, settings, str(folder))
    return gather(folder, str(root), most=MOST, seed=seed)


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
