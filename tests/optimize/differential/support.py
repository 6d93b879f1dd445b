"""Small checkouts: a module, a script that tests it, and other versions of the module."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.baseline import HASH_SEEDS, Baseline, study
from fanwise.optimize.differential.child_program import Site
from fanwise.optimize.differential.compare import Differs, compare, missing
from fanwise.optimize.differential.observe import observe
from fanwise.optimize.differential.weigh import weigh
from fanwise.processes import Limits

T = TypeVar("T")
SETTINGS = Settings(sandbox=False, limits=Limits())
LINE = f"{sys.executable} check.py"


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def checkout(
    folder: Path,
    module: str,
    test: str = "",
    *,
    file: str = "mod.py",
    files: Mapping[str, str] = MappingProxyType({}),
) -> Site:
    """A folder with a module, a script that calls it, and other files of the project."""
    for name, text in {**files, file: module, "check.py": test}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return Site.folder(folder)


class Original:
    """A function with its tests, observed once; candidates are compared with it."""

    def __init__(
        self,
        folder: Path,
        module: str,
        test: str,
        name: str = "f",
        settings: Settings = SETTINGS,
        files: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.files = files
        self.folder = folder
        self.settings = settings
        self.test = test
        self.target = Target("mod.py", name)
        self.site = checkout(folder / "original", module, test, files=files)
        self.baseline: Baseline = run(
            study(self.site, self.target, LINE, settings, folder / "recorded")
        )

    def differs(self, module: str, *, allowed_s: float = 30.0, far: bool = False) -> list[Differs]:
        """Where another version of the module differs; `far`: also where nobody calls it."""
        site = checkout(self.folder / "candidate", module, self.test, files=self.files)
        base = self.baseline
        for number, hash_seed in enumerate(HASH_SEEDS):
            seen = run(
                observe(
                    site, self.target, base.recording, base.plan, self.settings,
                    hash_seed=hash_seed, only=base.made, ends=3, names=base.passes[0].names,
                    seconds=dict.fromkeys(base.made, allowed_s),
                )
            )  # fmt: skip
            found = compare(
                base.entries(), base.passes[number], seen, unordered=frozenset(base.unordered)
            )
            found = found if far else weigh(found, strict=False, allow=()).rejecting
            if found:
                return found
            assert not missing(base.entries(), seen)
            assert not seen.cut
        return []
