"""Calls are recorded from whatever runs the tests, and no file of theirs is touched."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import INJECTED
from fanwise.optimize.differential.recording import CALLS, MOST, CallRecording, gather, record
from tests.optimize.differential.support import LINE, SETTINGS, checkout, run

PYTHON = sys.executable
QUIET = "-p no:cacheprovider -p no:hypothesispytest -q"


def recorded(
    folder: Path, module: str, test: str, name: str = "f", line: str = LINE, **files: str
) -> CallRecording:
    site = checkout(folder / "top", module, test)
    for file, text in files.items():
        (folder / "top" / f"{file}.py").write_text(textwrap.dedent(text))
    return run(record(site, Target("mod.py", name), line, SETTINGS, folder / "into"))


def arguments(recording: CallRecording, folder: Path) -> list[Any]:
    """What was stored, as a child reads it."""
    code = (
        "import json, sys; from fanwise_child.timing import TimedCalls, _function, _load\n"
        "how = json.loads(sys.argv[1])\n"
        "rows = [json.loads(line) for line in open(how['calls'])]\n"
        "subject = TimedCalls(_function({**how, 'recorded': True})[0], rows, _load)\n"
        "calls = subject.direct(list(range(subject.size)))\n"
        "def plain(x): return list(x) if hasattr(x, '__next__') else getattr(x, '__dict__', x)\n"
        "print(json.dumps([[[plain(a) for a in args], kw] for _, args, kw in calls], default=repr))"
    )
    how = recording.how(str(folder / "top"), "mod.py", "f")
    how["name"] = recording_name(folder)
    env = {"PYTHONPATH": str(INJECTED), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [PYTHON, "-c", code, json.dumps(how)], env=env, capture_output=True, text=True, check=True
    )
    found: list[Any] = json.loads(done.stdout)
    return found


def recording_name(folder: Path) -> str:
    return (folder / "name").read_text() if (folder / "name").exists() else "f"


def tree(folder: Path) -> Mapping[str, bytes]:
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


PLAIN = "def f(xs, n=1):\n    xs.append(n)\n    return xs\n"


def test_arguments_are_those_from_before_the_call(tmp_path: Path) -> None:
    found = recorded(tmp_path, PLAIN, "from mod import f\nf([1])\nf([2], n=5)\n")
    assert arguments(found, tmp_path) == [[[[1]], {}], [[[2]], {"n": 5}]]
    assert (found.calls, found.seen, found.module) == (2, 2, "mod")


def test_no_file_of_the_checkout_is_touched(tmp_path: Path) -> None:
    checkout(tmp_path / "top", PLAIN, "from mod import f\nf([1])\n")
    before = tree(tmp_path / "top")
    recorded(tmp_path, PLAIN, "from mod import f\nf([1])\n")
    assert tree(tmp_path / "top") == before


def test_the_same_call_is_kept_once(tmp_path: Path) -> None:
    found = recorded(tmp_path, PLAIN, "from mod import f\nfor _ in range(50): f([1])\n")
    assert (found.calls, found.seen) == (1, 50)


def test_of_many_calls_late_ones_are_kept_too(tmp_path: Path) -> None:
    test = "from mod import f\nfor i in range(1500): f(i)\n"
    found = recorded(tmp_path, "def f(n): return n\n", test)
    kept = [args[0] for args, _ in arguments(found, tmp_path)]
    assert (found.calls, found.seen) == (MOST, 1500)
    assert max(kept) > 750 and min(kept) < 750


@pytest.mark.parametrize(
    "line",
    [
        f"{PYTHON} -m pytest {QUIET} test_it.py",
        f"{PYTHON} -m unittest test_it",
        f"{PYTHON} -m pytest {QUIET} -n 1 test_it.py",
    ],
    ids=["pytest", "unittest", "xdist"],
)
def test_any_runner_of_tests_will_do(tmp_path: Path, line: str) -> None:
    test = """
        import unittest
        from mod import f
        class TestIt(unittest.TestCase):
            def test_it(self):
                self.assertEqual(f([1]), [1, 1])
    """
    found = recorded(tmp_path, PLAIN, "", line=line, test_it=test)
    assert arguments(found, tmp_path) == [[[[1]], {}]]


def test_calls_in_a_subprocess_of_the_test_count(tmp_path: Path) -> None:
    test = "import subprocess, sys\nsubprocess.run([sys.executable, 'other.py'], check=True)\n"
    found = recorded(tmp_path, PLAIN, test, other="from mod import f\nf([7])\n")
    assert arguments(found, tmp_path) == [[[[7]], {}]]


def test_calls_of_a_process_that_is_killed_count(tmp_path: Path) -> None:
    test = "import os\nfrom mod import f\nf([7])\nos._exit(0)\n"
    assert recorded(tmp_path, PLAIN, test).calls == 1


def test_a_module_that_took_it_while_its_own_was_not_ready_is_seen(tmp_path: Path) -> None:
    module = "def f(n): return n\nimport user\n"
    user = "from mod import f\ndef use(): return f(3)\n"
    found = recorded(tmp_path, module, "import mod, user\nuser.use()\n", user=user)
    assert arguments(found, tmp_path) == [[[3], {}]]


CLASS = """
    import functools
    class Thing:
        def __init__(self, n): self.n = n
        def plain(self, m): self.n += m; return self.n
        @staticmethod
        def static(m): return m
        @classmethod
        def of_class(cls, m): return cls(m)
    @functools.lru_cache
    def cached(m): return m
"""


@pytest.mark.parametrize(
    ("name", "test", "args"),
    [
        ("Thing.plain", "mod.Thing(1).plain(2)", [{"n": 1}, 2]),
        ("Thing.static", "mod.Thing.static(2)", [2]),
        ("Thing.of_class", "mod.Thing.of_class(2)", None),
        ("cached", "mod.cached(2); mod.cached.cache_clear()", [2]),
    ],
)
def test_methods_and_what_is_decorated(
    tmp_path: Path, name: str, test: str, args: list[object] | None
) -> None:
    (tmp_path / "name").write_text(name)
    found = recorded(tmp_path, CLASS, f"import mod\n{test}\n", name)
    (kept,) = arguments(found, tmp_path)
    assert args is None or kept == [args, {}]


def test_generators_and_coroutines_stay_what_they_are(tmp_path: Path) -> None:
    module = """
        import inspect
        def f(n):
            for i in range(n):
                got = yield i
    """
    test = """
        import inspect, mod
        assert inspect.isgeneratorfunction(mod.f)
        made = mod.f(3)
        assert next(made) == 0 and made.send(1) == 1 and list(made) == [2]
    """
    assert arguments(recorded(tmp_path, module, test), tmp_path) == [[[3], {}]]


def test_a_coroutine_is_recorded(tmp_path: Path) -> None:
    module = "async def f(n): return n\n"
    test = """
        import asyncio, inspect, mod
        assert inspect.iscoroutinefunction(mod.f)
        asyncio.run(mod.f(4))
    """
    assert arguments(recorded(tmp_path, module, test), tmp_path) == [[[4], {}]]


def test_a_generator_as_argument_is_stored_by_what_was_taken_from_it(tmp_path: Path) -> None:
    module = "def f(xs): return next(xs)\n"
    test = "from mod import f\nxs = (i for i in range(9))\nf(xs)\nassert next(xs) == 1\n"
    assert arguments(recorded(tmp_path, module, test), tmp_path) == [[[[0]], {}]]


def test_a_lambda_as_argument_travels_with_the_call(tmp_path: Path) -> None:
    module = "def f(xs, key): return sorted(xs, key=key)\n"
    test = "from mod import f\nsign = -1\nf([1, 2], lambda n: sign * n)\n"
    assert recorded(tmp_path, module, test).calls == 1


def test_what_cannot_be_stored_is_counted_and_the_test_goes_on(tmp_path: Path) -> None:
    module = "def f(file): return file.closed\n"
    test = "from mod import f\nassert f(open('mod.py')) is False\nprint('ok')\n"
    found = recorded(tmp_path, module, test)
    assert (found.calls, found.seen) == (0, 1)
    assert list(found.unstorable.values()) == [1]
    assert "TextIOWrapper" in next(iter(found.unstorable))


def test_of_a_recursive_function_the_outer_calls_are_kept_and_some_inner_ones(
    tmp_path: Path,
) -> None:
    module = "def f(n): return 0 if n == 0 else f(n - 1) + 1\n"
    found = recorded(tmp_path, module, "from mod import f\nf(100)\nf(200)\n")
    kept = [args[0] for args, _ in arguments(found, tmp_path)]
    assert {100, 200} <= set(kept)
    assert 2 < len(kept) <= 2 + 24


def test_a_sitecustomize_of_the_user_runs_too(tmp_path: Path) -> None:
    user = "import builtins\nbuiltins.of_the_user = 5\n"
    test = "from mod import f\nf([of_the_user])\n"
    found = recorded(tmp_path, PLAIN, test, sitecustomize=user)
    assert arguments(found, tmp_path) == [[[[5]], {}]]


def test_a_line_that_was_cut_off_by_a_kill_is_left_out(tmp_path: Path) -> None:
    head = json.dumps({"module": "mod", "python": PYTHON, "path": [str(tmp_path / "src"), "/x"]})
    call = json.dumps({"call": "AAAA", "place": 0, "depth": 0})
    (tmp_path / "calls-1-a.jsonl").write_text(f'{head}\n{call}\n{{"call": "BB')
    found = gather(tmp_path, str(tmp_path), most=5, seed=0)
    assert (found.calls, found.path) == (1, ("{root}/src",))
    assert found.intact()
    (tmp_path / CALLS).write_text("")
    assert not found.intact()


def test_calls_of_functions_that_returned_functions_return_are_followed(tmp_path: Path) -> None:
    module = """
        def f(times):
            def decorate(function):
                return lambda n: [function(n)] * times
            return decorate
    """
    test = "from mod import f\nassert f(2)(abs)(-3) == [3, 3]\nassert f(1)(abs)(4) == [4]\n"
    found = recorded(tmp_path, module, test)
    rows = [json.loads(line) for line in Path(found.file).read_text().splitlines()]
    assert [len(row["follow"]) for row in rows] == [1, 1], "the calls of the last ones alone"
    code = (
        "import json, sys; from fanwise_child.timing import TimedCalls, _function, _load\n"
        "how = json.loads(sys.argv[1])\n"
        "rows = [json.loads(line) for line in open(how['calls'])]\n"
        "subject = TimedCalls(_function({**how, 'recorded': True})[0], rows, _load)\n"
        "print([call(*args, **kw) for call, args, kw in subject.fresh([0, 1])])"
    )
    how = json.dumps(found.how(str(tmp_path / "top"), "mod.py", "f"))
    argv = [PYTHON, "-c", code, how]
    env = {"PYTHONPATH": str(INJECTED)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[[3, 3], [4]]\n", "what is timed is the last of them"


def test_a_generator_that_nobody_reads_to_its_end_is_recorded(tmp_path: Path) -> None:
    module = "def f(n):\n    while True: yield n\n"
    test = "from mod import f\nkept = f(1)\nnext(kept)\nleft = f(2)\nnext(left)\nleft.close()\n"
    found = recorded(tmp_path, module, test)
    assert sorted(arguments(found, tmp_path)) == [[[1], {}], [[2], {}]]
