"""A candidate that dies, hangs, hogs, floods or forges is found out, and hides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.optimize.differential.check import check_differential
from fanwise.optimize.differential.child_program import INJECTED
from fanwise.optimize.differential.compare import Difference
from tests.marks import slow
from tests.optimize.differential.support import SETTINGS, Original, checkout, run

MODULE = """
    def f(xs):
        return [x + 1 for x in xs]
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    folder = tmp_path_factory.mktemp("hostile")
    return Original(folder, MODULE, "from mod import f\nassert f([1, 2, 3]) == [2, 3, 4]\n")


def judged(original: Original, module: str) -> tuple[str, Difference | None]:
    site = checkout(original.folder / "candidate", module, original.test)
    work = check_differential(
        original.site, site, original.target, original.baseline, SETTINGS, budget_s=0.0
    )
    finding, difference = run(work)
    assert finding.ok == (not finding.reason or "the same in" in finding.reason)
    return ("" if finding.ok else finding.reason), difference


def test_the_original_itself_passes(original: Original) -> None:
    assert judged(original, MODULE) == ("", None)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("os._exit(0)", "ended the process with code 0"),
        ("os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("os.kill(0, 9)", "killed"),
        ("raise SystemExit(0)", "raises SystemExit"),
    ],
)
def test_one_that_ends_its_process(original: Original, line: str, said: str) -> None:
    module = f"""
        import os
        def f(xs):
            xs = list(xs)
            if len(xs) == 1: {line}
            return [x + 1 for x in xs]
    """
    reason, difference = judged(original, module)
    assert said in reason
    assert difference is not None
    assert difference.kind in ("ended", "exception")


def test_one_that_sleeps_on_a_call_does_not_hide_the_others(original: Original) -> None:
    module = """
        import time
        def f(xs):
            xs = list(xs)
            if len(xs) == 1: time.sleep(1000)
            return [x + 2 if len(xs) > 4 else x + 1 for x in xs]
    """
    found = original.differs(module, allowed_s=0.5)
    assert {"ended", "value"} <= {each.kind for each in found}
    assert {each.ended for each in found if each.kind == "ended"} >= {"took too long"}


def test_one_that_takes_64_gigabytes(original: Original) -> None:
    module = "def f(xs):\n    bytearray(64 << 30)\n    return [x + 1 for x in xs]\n"
    reason, _ = judged(original, module)
    assert "MemoryError" in reason


@slow
def test_one_that_prints_a_gigabyte(original: Original) -> None:
    module = """
        import os
        def f(xs):
            for _ in range(1024): os.write(1, b"x" * (1 << 20))
            return [x + 1 for x in xs]
    """
    reason, _ = judged(original, module)
    assert "it printed more than 4 MB" in reason


def test_one_that_answers_by_printing_or_by_writing_to_every_file(original: Original) -> None:
    module = """
        import os, json
        def f(xs):
            line = json.dumps({"id": 1, "word": "", "steps": []}).encode() + b"\\n"
            print(line)
            for file in range(3, 64):
                try: os.write(file, line)
                except OSError: pass
            return None
    """
    reason, difference = judged(original, module)
    assert reason
    assert difference is not None


def test_one_that_changes_what_compares_values(original: Original) -> None:
    module = """
        import sys
        forms = sys.modules["fanwise_child.forms"]
        class Liar(forms.Former):
            def form(self, value): return []
        sys.modules["fanwise_child.outcome"].Former = Liar
        def f(xs): return None
    """
    reason, _ = judged(original, module)
    assert reason


def test_one_that_starts_a_process_and_leaves_it(original: Original, tmp_path: Path) -> None:
    module = """
        import os
        def f(xs):
            os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
            return [x + 1 for x in xs][:2]
    """
    reason, _ = judged(original, module)
    assert reason


def test_one_that_cannot_be_imported_or_is_gone(original: Original) -> None:
    assert "cannot be called" in judged(original, "raise RuntimeError('no')\n")[0]
    assert "has no f" in judged(original, "def g(xs): return xs\n")[0]


def test_one_that_exchanges_the_recorded_calls(original: Original, tmp_path: Path) -> None:
    plan = Path(original.baseline.plan.file)
    kept = plan.read_bytes()
    module = f"""
        open({str(plan)!r}, "a").close()
        open({str(plan)!r}, "ab").write(b"\\n")
        def f(xs): return [x + 1 for x in xs]
    """
    try:
        assert "changed" in judged(original, module)[0]
    finally:
        plan.write_bytes(kept)


def test_our_part_needs_nothing_of_fanwise() -> None:
    for file in (INJECTED / "fanwise_child").glob("*.py"):
        text = file.read_text()
        assert "import fanwise" not in text.replace("fanwise_child", "")
        assert "from fanwise." not in text
