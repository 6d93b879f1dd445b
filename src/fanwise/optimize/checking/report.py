"""What a test command came to, and whether that is what it came to on the original. Pure.

Tests are compared one by one, by their ids: the same ones ran, and each came out the same. A test
that no longer runs is a failure, and so is one that now passes: the program does something else.
Of a command that tells no tests (unittest, a script, a pytest behind something that clears the
environment, such as tox) there are only its exit code and what unittest counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from fanwise.processes.result import signal_name

_SHOWN = 3
_UNITTEST = re.compile(r"^(Ran \d+ tests?) in .*\n\s*^(.*)$", re.M)
_COLLECTING = "collecting "
NO_TESTS = 5
"""pytest's exit code if it found none."""


class TestReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of one test run. JSON-able."""

    __test__: ClassVar[bool] = False

    tests: Mapping[str, str] | None
    """The outcome by test; None: the command does not tell, there is only its exit code."""
    exit_code: int | None
    problem: str = ""
    """Why the run came to no end of its own, or its report cannot be believed."""
    details: Mapping[str, str] = {}
    """The output of some failed tests, cut."""
    output: str = ""
    """The end of the command's output."""
    left_out: tuple[str, ...] = ()
    """Tests that come out now so, now so, on the same code."""
    seconds: float = 0.0


def settled(first: TestReport, second: TestReport) -> TestReport:
    """What two runs of the same code agree in. Tests that differ say nothing of a candidate."""
    if first.tests is None or second.tests is None or first.problem or second.problem:
        return msgspec.structs.replace(first, problem=first.problem or second.problem)
    every = {**first.tests, **second.tests}
    differ = [test for test in every if first.tests.get(test) != second.tests.get(test)]
    tests = {test: outcome for test, outcome in every.items() if test not in set(differ)}
    return msgspec.structs.replace(
        first, tests=tests, left_out=tuple(differ), seconds=max(first.seconds, second.seconds)
    )


def unusable(report: TestReport) -> str:
    """Why nothing can be judged by what the tests do on the original; empty: it can."""
    if report.problem:
        return report.problem
    if report.tests is None:
        return "" if report.exit_code == 0 else f"it exits with code {report.exit_code}"
    if report.exit_code == NO_TESTS or not report.tests:
        return "not one test ran" if not report.left_out else "no test has the same outcome twice"
    errors = [test for test in report.tests if test.startswith(_COLLECTING)]
    if errors and len(errors) == len(report.tests):
        return f"{errors[0]} fails"
    return "" if report.exit_code in (0, 1) else f"pytest exits with code {report.exit_code}"


def difference(baseline: TestReport, report: TestReport) -> tuple[str, str]:
    """In which way a run differs from that of the original, and what to see of it; empty: none."""
    if report.problem:
        return report.problem, report.output
    if baseline.tests is None:
        return _by_code(baseline, report)
    if report.tests is None:
        return f"its tests ended before they were done, {_code(report.exit_code)}", report.output
    return _by_test(baseline.tests, report.tests, baseline, report)


def _by_test(
    old: Mapping[str, str], new: Mapping[str, str], baseline: TestReport, report: TestReport
) -> tuple[str, str]:
    changed = [test for test in old if test in new and new[test] != old[test]]
    missing = [test for test in old if test not in new]
    known = {*old, *baseline.left_out}
    added = [test for test in new if test not in known and new[test] in ("failed", "error")]
    if added:  # such as what it broke the import of: the tests are missing for it
        return f"{_names(added)} {new[added[0]]}", _detail(added, report)
    if changed:
        test = changed[0]
        said = f"{_names(changed)} {new[test]} ({old[test]} on the original)"
        return said, _detail(changed, report)
    if missing:
        return f"{_names(missing)} did not run", report.output
    if not baseline.left_out:
        return _by_code(baseline, report)
    return "", ""


def _by_code(baseline: TestReport, report: TestReport) -> tuple[str, str]:
    if report.exit_code == baseline.exit_code:
        ours, theirs = _counts(baseline), _counts(report)
        if ours and ours != theirs:
            return f"{theirs or 'no tests were counted'} ({ours} on the original)", report.output
        return "", ""
    code, was = report.exit_code, baseline.exit_code
    return f"the test command exited with code {code} ({was} on the original)", report.output


def _counts(report: TestReport) -> str:
    """What unittest says at its end: how many tests ran, and how many of them were skipped."""
    return "; ".join(
        f"{ran}, {end}" if end else ran for ran, end in _UNITTEST.findall(report.output)
    )


def _code(code: int | None) -> str:
    """An exit code in words; a shell reports a signal as 128 + n."""
    if code is not None and code > 128:
        return f"killed by {signal_name(code - 128)}"
    return f"with exit code {code}"


def _names(tests: list[str]) -> str:
    more = f" and {len(tests) - _SHOWN} more" if len(tests) > _SHOWN else ""
    return f"{', '.join(tests[:_SHOWN])}{more}:" if len(tests) > 1 else tests[0]


def _detail(tests: list[str], report: TestReport) -> str:
    shown = [report.details[test] for test in tests[:_SHOWN] if report.details.get(test)]
    return "\n\n".join(shown) or report.output
