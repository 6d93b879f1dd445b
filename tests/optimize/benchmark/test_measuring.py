"""Real processes: what one measurement tells, and a few whole comparisons.

No figure is compared with a wall clock, only with another that differs by a factor of many.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanwise.errors import BenchFailed, UsageError
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.benchmark.compare import _block, compare_speed, measure_pair
from fanwise.optimize.benchmark.noise import measure_noise
from fanwise.optimize.benchmark.pair import Measurement, Pair, TimedValues
from fanwise.optimize.benchmark.profile import profile, profile_text
from fanwise.optimize.benchmark.sequential import Accept
from fanwise.optimize.benchmark.stopwatch import (
    Bench,
    BenchCall,
    BenchCommand,
    NoFigure,
    RecordedCalls,
    Stopwatch,
)
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import Site
from fanwise.optimize.differential.equal import Tolerance
from fanwise.optimize.differential.recording import record
from fanwise.processes.sandbox import unusable
from tests.marks import slow, slow_after
from tests.optimize.differential.support import checkout

SETTINGS = Settings(timeout_s=60.0, sandbox=False)
TARGET = Target("mod.py", "total")
SLOW = """
def total(numbers):
    out = 0
    for _ in range(50):
        out = sum(n * n for n in numbers)
    numbers.clear()  # whoever gets them again sees nothing
    return out
"""
FAST = """
def total(numbers):
    out = sum(n * n for n in numbers)
    numbers.clear()
    return out
"""
TESTS = """
from mod import total
for k in (3, 40, 60, 90):
    assert total(list(range(k))) == sum(n * n for n in range(k))
"""
BENCH = """
from mod import total

def run():
    return total(list(range(300)))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def original(folder: Path) -> Site:
    return version(folder, "original", SLOW)


@pytest.fixture(scope="module")
def recorded(folder: Path, original: Site) -> RecordedCalls:
    line = f"{sys.executable} check.py"
    found = asyncio.run(record(original, TARGET, line, SETTINGS, folder / "recorded"))
    assert found.calls == 4
    return RecordedCalls(recording=found, target=TARGET)


def version(folder: Path, name: str, module: str) -> Site:
    site = checkout(folder / name, module, TESTS)
    (folder / name / "bench.py").write_text(BENCH)
    return site


def measured(bench: Bench, original: Site, *sites: Site) -> list[Measurement | NoFigure]:
    async def main() -> list[Measurement | NoFigure]:
        meter = Stopwatch(bench, SETTINGS)
        await meter.calibrate(original)
        return [await meter.measure(site, 17) for site in sites]

    return asyncio.run(main())


def test_each_side_is_measured_with_its_own_code_and_fresh_arguments(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    slow, fast = measured(recorded, original, original, version(folder, "fast", FAST))
    assert isinstance(slow, Measurement)
    assert isinstance(fast, Measurement)
    assert slow.seconds > 5 * fast.seconds
    assert slow.forms == fast.forms, "an argument that was used before would give 0"
    assert set(slow.forms) == {"0", "1", "2", "3"}
    assert "0" not in slow.forms.values()


def test_both_sides_of_a_pair_have_the_same_hash_seed_and_the_next_pair_another(
    tmp_path: Path,
) -> None:
    code = "def total(n):\n    return hash('x')\n"
    site = checkout(tmp_path / "code", code, "from mod import total\ntotal(1)\n")
    line = f"{sys.executable} check.py"
    found = asyncio.run(record(site, TARGET, line, SETTINGS, tmp_path / "recorded"))

    async def main() -> list[Pair | NoFigure]:
        meter, order = (
            Stopwatch(RecordedCalls(recording=found, target=TARGET), SETTINGS),
            random.Random(1),
        )
        await meter.calibrate(site)
        return [await measure_pair(meter, site, site, order, n == 0) for n in range(2)]

    first, second = asyncio.run(main())
    assert isinstance(first, Pair)
    assert isinstance(second, Pair)
    assert first.baseline.forms == first.candidate.forms
    assert second.baseline.forms == second.candidate.forms
    assert first.baseline.forms != second.baseline.forms


def test_pairs_come_in_blocks_of_which_each_side_is_first_once() -> None:
    order = random.Random(4)
    blocks = [_block(order) for _ in range(40)]
    assert set(blocks) == {(True, False), (False, True)}


def test_a_function_that_remembers_is_slow_at_the_calls_that_were_held_back(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    memo = (
        FAST.replace("def total", "def plain")
        + SLOW.replace("def total", "def work")
        + (
            "MEMO = {}\n"
            "def total(numbers):\n"
            "    key = tuple(numbers)\n"
            "    if key not in MEMO:\n"
            "        MEMO[key] = work(numbers)\n"
            "    numbers.clear()\n"
            "    return MEMO[key]\n"
        )
    )
    plain, remembering = measured(recorded, original, original, version(folder, "memo", memo))
    assert isinstance(plain, Measurement)
    assert isinstance(remembering, Measurement)
    assert plain.new_s is not None
    assert plain.again_s is not None
    assert remembering.new_s is not None
    assert remembering.again_s is not None
    assert remembering.new_s > 5 * remembering.again_s
    assert plain.new_s < 5 * plain.again_s


def test_a_function_that_gives_up_when_it_is_called_often_is_seen(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    tired = FAST.replace("def total", "COUNT = []\ndef total").replace(
        "    out", "    COUNT.append(1)\n    if len(COUNT) > 20:\n        return 5\n    out", 1
    )
    both = measured(recorded, original, original, version(folder, "tired", tired))
    values = TimedValues(Tolerance())
    values.add(Pair(*both))  # type: ignore[arg-type]
    assert values.wrong == [0, 1, 2, 3] or values.wrong == [1, 2, 3]


def test_a_clock_that_is_turned_back_and_figures_that_are_printed_change_nothing(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    forged = SLOW + (
        "import time, gc, sys, builtins\n"
        "time.perf_counter_ns = time.perf_counter = time.monotonic_ns = lambda: 1\n"
        'print(\'{"samples": [1], "new_ns": 1, "again_ns": 1}\', flush=True)\n'
        "gc.collect = gc.disable = gc.freeze = lambda *a: 0\n"
        "import __main__\n"
        "__main__._timed = lambda f, calls, last: (1, [f(*a, **k) for a, k in last])\n"
        "__main__._sample = lambda s, which, n: (1, [0] * len(which))\n"
        "__main__.perf_counter_ns = lambda: 1\n"
    )
    plain, forging = measured(recorded, original, original, version(folder, "forged", forged))
    assert isinstance(plain, Measurement)
    assert isinstance(forging, Measurement)
    assert forging.seconds > plain.seconds / 10


@slow
def test_a_clock_that_is_replaced_in_the_frame_of_the_caller_gains_nothing(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    clock = SLOW.replace(
        "    out = 0\n",
        "    space = sys._getframe(1).f_globals\n"
        "    if '_timed' in space and 'slow' not in space:\n"
        "        space['slow'], real = 1, space['perf_counter_ns']\n"
        "        space['perf_counter_ns'] = lambda: real() // 50\n"
        "    out = 0\n",
        1,
    )
    forged = version(folder, "clock", f"import sys\n{clock}")
    speed = asyncio.run(compare_speed(original, forged, recorded, SETTINGS))
    assert speed.ratio > 10, "it lies"
    assert (speed.decision, speed.rounds) == ("undecided", 8)
    assert speed.reason == "its process takes longer than its figures say"


PREPARES = """
import os, re, sys

found = []
def look(frame):
    while frame is not None:
        for each in frame.f_locals.values():
            for path in re.findall("'(/[^']+)'", repr(each)):
                if os.path.isfile(path) and not path.endswith(".py"):
                    found.append(open(path, errors="replace").read())
        frame = frame.f_back
look(sys._getframe())
for fd in range(3, 100):
    try:
        os.set_blocking(fd, False)
        found.append(repr(os.read(fd, 1 << 20)))
    except OSError:
        pass
    try:
        os.set_blocking(fd, True)
    except OSError:
        pass
try:
    keeper = os.open(f"/proc/{os.getppid()}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
    found.append(repr(os.read(keeper, 1 << 20)))
except OSError:
    pass
here = [each for each in found if '"call":' in each]
if here:
    raise RuntimeError(f"the calls are here: {here[0][:200]}")
"""


@pytest.mark.skipif(bool(unusable()), reason=unusable() or "there is one")
def test_the_calls_cannot_be_reached_while_the_target_is_imported(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    prepares = version(folder, "prepares", PREPARES + FAST)

    async def main() -> Measurement | NoFigure:
        meter = Stopwatch(recorded, replace(SETTINGS, sandbox=True))
        await meter.calibrate(original)
        return await meter.measure(prepares, 17)

    assert isinstance(asyncio.run(main()), Measurement), "it fails if it finds them"


def test_what_an_import_takes_is_seen_from_outside(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    table = version(folder, "table", f"import time\ntime.sleep(0.3)\n{FAST}")
    speed = asyncio.run(compare_speed(original, table, recorded, SETTINGS))
    assert speed.decision == "undecided"
    assert "its import takes" in speed.reason


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise RuntimeError('no')", "RuntimeError: no"),
        ("import os\nos._exit(0)", "code 0"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("total = None", "TypeError"),
    ],
)
def test_a_candidate_without_figures_says_why(
    folder: Path, original: Site, recorded: RecordedCalls, code: str, why: str
) -> None:
    broken = version(folder, f"broken-{len(code)}", f"{FAST}\n{code}\n")
    [problem] = measured(recorded, original, broken)
    if code == "total = None":
        assert isinstance(problem, Measurement), "each call raises, and that is quick"
        assert set(problem.forms.values()) == {'["raise", "TypeError"]'}
        return
    assert isinstance(problem, NoFigure)
    assert why in problem.reason


def test_a_function_of_the_repository_is_timed_and_must_be_the_same_on_both_sides(
    folder: Path, original: Site
) -> None:
    bench = BenchCall.parse("bench:run")
    changed = version(folder, "changed", FAST)
    (folder / "changed" / "bench.py").write_text("def run():\n    return 8955050\n")
    slow, fast, other = measured(
        bench, original, original, version(folder, "called", FAST), changed
    )
    assert isinstance(slow, Measurement)
    assert isinstance(fast, Measurement)
    assert isinstance(other, Measurement)
    assert slow.seconds > 5 * fast.seconds
    assert slow.source == fast.source != other.source


def test_a_command_is_timed_from_outside_and_its_files_must_be_the_same(
    folder: Path, original: Site
) -> None:
    bench = BenchCommand(line=f"{sys.executable} bench.py")
    changed = version(folder, "command", FAST)
    (folder / "command" / "bench.py").write_text("print('{\"seconds\": 0}')\n")
    ours, theirs = measured(bench, original, original, changed)
    assert isinstance(ours, Measurement)
    assert isinstance(theirs, Measurement)
    assert ours.source != theirs.source
    assert theirs.seconds > 0.001
    failing = BenchCommand(line=f"{sys.executable} -c 'raise SystemExit(3)'")
    with pytest.raises(BenchFailed, match="code 3"):
        measured(failing, original, original)


def test_an_original_that_cannot_be_timed_is_an_error_and_no_verdict(
    original: Site, recorded: RecordedCalls
) -> None:
    with pytest.raises(BenchFailed, match="No module named 'nothing_here'"):
        measured(BenchCall.parse("nothing_here:run"), original)


def test_a_real_gain_is_accepted_and_the_same_code_is_not(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    """The small form of `bench/cases/optimize.py`, which does it hundreds of times."""
    fast = version(folder, "gain", FAST)
    gain = asyncio.run(compare_speed(original, fast, recorded, SETTINGS, budget_s=60.0))
    assert gain.decision == "accept", gain
    assert gain.low > 2
    same = version(folder, "same", SLOW)
    # By default the same code is accepted once in a hundred times: too often for a test.
    sure = Accept(confidence=0.9999)
    none = asyncio.run(
        compare_speed(original, same, recorded, SETTINGS, accept=sure, budget_s=3.0, seed=1)
    )
    assert none.decision != "accept", none


def test_noise_is_that_of_the_original_against_itself(
    original: Site, recorded: RecordedCalls
) -> None:
    noise = asyncio.run(measure_noise(original, recorded, SETTINGS, budget_s=2.0))
    assert noise.pairs >= 1
    assert noise.spread >= 0
    assert noise.smallest_gain >= 1
    assert noise.baseline_s > 0


@pytest.mark.skipif(bool(unusable()), reason="there is no sandbox here")
def test_all_of_it_works_in_a_sandbox(original: Site, recorded: RecordedCalls) -> None:
    async def main() -> tuple[Measurement | NoFigure, int]:
        meter = Stopwatch(recorded, sandboxed)
        await meter.calibrate(original)
        lines = await profile(original, recorded, TARGET, recorded.recording, sandboxed)
        return await meter.measure(original, 3), len(lines)

    sandboxed = Settings(timeout_s=60.0, sandbox=True)
    found, lines = asyncio.run(main())
    assert isinstance(found, Measurement)
    assert lines > 3


def test_a_profile_names_the_line_that_takes_the_time(
    original: Site, recorded: RecordedCalls
) -> None:
    for bench in (recorded, BenchCall.parse("bench:run")):
        lines = asyncio.run(profile(original, bench, TARGET, recorded.recording, SETTINGS))
        hot = max(lines, key=lambda line: line.share)
        assert "sum(n * n for n in numbers)" in hot.text
        assert hot.hits >= 50
        assert sum(line.share for line in lines) == pytest.approx(1.0)
        assert f"{hot.number:6} {hot.hits:9}" in profile_text(lines)


def test_without_line_profiler_the_error_names_the_extra(
    folder: Path, original: Site, recorded: RecordedCalls
) -> None:
    bare = folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    recording = replace(recorded.recording, python=str(bare / "bin" / "python"))
    with pytest.raises(UsageError, match=r"pip install 'fanwise\[profile\]'"):
        asyncio.run(profile(original, recorded, TARGET, recording, SETTINGS))


def test_a_command_has_no_profile(original: Site, recorded: RecordedCalls) -> None:
    bench = BenchCommand(line="true")
    with pytest.raises(UsageError, match="cannot be profiled"):
        asyncio.run(profile(original, bench, TARGET, recorded.recording, SETTINGS))


KINDS = {
    "method": (
        "class Box:\n"
        "    def __init__(self, n):\n        self.n = n\n"
        "    def total(self, times):\n        return [self.n * k for k in range(times)]\n",
        "from mod import Box\nfor n in (3, 4):\n    Box(n).total(50)\n",
        "Box.total",
    ),
    "class method": (
        "class Box:\n    @classmethod\n    def total(cls, n):\n        return (cls.__name__, n)\n",
        "from mod import Box\nBox.total(3)\nBox.total(4)\n",
        "Box.total",
    ),
    "generator": (
        "def total(n):\n    for k in range(n):\n        yield sum(range(300))\n",
        "from mod import total\nlist(total(3))\nlist(total(30))\n",
        "total",
    ),
    "coroutine": (
        "import asyncio\nasync def total(n):\n    await asyncio.sleep(0)\n    return n\n",
        "import asyncio\nfrom mod import total\nasyncio.run(total(3))\nasyncio.run(total(4))\n",
        "total",
    ),
    "raises": (
        "def total(n):\n    raise ValueError(n)\n",
        "from mod import total\nfor n in (1, 2):\n    try:\n        total(n)\n"
        "    except ValueError:\n        pass\n",
        "total",
    ),
    "prints": (
        "def total(n):\n    print('x' * 1000)\n    return n\n",
        "from mod import total\ntotal(1)\ntotal(2)\n",
        "total",
    ),
}  # fmt: skip


MAKES = """
def total(numbers):
    {made}
    def use(n):
        {used}
        return n in numbers
    return use
"""
USES = """
from mod import total
for k in (30, 400, 5000):
    use = total(list(range(k)))
    assert use(3)
    assert not use(-1)
"""


def test_of_a_returned_function_the_calls_are_timed_and_sizes_are_told_apart(
    tmp_path: Path,
) -> None:
    """Two versions with the same work: one does it when it is made, one when it is used."""
    work = "for _ in range(3000): pass"
    early, late = (
        checkout(tmp_path / name, MAKES.format(made=made, used=used), USES)
        for name, made, used in (("early", work, "pass"), ("late", "pass", work))
    )
    line = f"{sys.executable} check.py"
    found = asyncio.run(record(early, TARGET, line, SETTINGS, tmp_path / "recorded"))
    bench = RecordedCalls(recording=found, target=TARGET)

    async def main() -> tuple[Stopwatch, list[Measurement | NoFigure]]:
        meter = Stopwatch(bench, SETTINGS)
        await meter.calibrate(early)
        return meter, [await meter.measure(site, 17) for site in (early, late)]

    meter, [first, second] = asyncio.run(main())
    assert isinstance(first, Measurement), first
    assert isinstance(second, Measurement), second
    assert meter.classes == ("size 30", "size 400", "size 5000", "making and using it")
    assert len(first.classes) == len(second.classes) == 4
    assert second.classes[0] > 3 * first.classes[0], "using it is what counts"
    assert second.seconds > first.seconds
    assert first.classes[3] > 3 * first.classes[0], "making it is counted there"
    values = TimedValues(Tolerance())
    values.add(Pair(first, second))
    assert values.wrong == []


@pytest.mark.parametrize("kind", slow_after(2, KINDS))
def test_every_kind_of_function_can_be_timed(tmp_path: Path, kind: str) -> None:
    module, test, name = KINDS[kind]
    site = checkout(tmp_path / "code", module, test)
    target = Target("mod.py", name)
    line = f"{sys.executable} check.py"
    found = asyncio.run(record(site, target, line, SETTINGS, tmp_path / "recorded"))
    assert found.calls == 2
    first, second = measured(RecordedCalls(recording=found, target=target), site, site, site)
    assert isinstance(first, Measurement), first
    assert isinstance(second, Measurement), second
    values = TimedValues(Tolerance())
    values.add(Pair(first, second))
    assert values.wrong == []
    if kind == "generator":
        assert first.seconds > 20e-6, "thirty sums of three hundred are made, not only promised"
