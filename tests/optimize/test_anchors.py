"""What pull requests for faster code were accepted with: each of them is a reason to reject here.

They pass the tests that are there. One run, one function, one way to be wrong for each candidate.
"""

from __future__ import annotations

from pathlib import Path

from tests.marks import slow
from tests.optimize.project import judge
from tests.optimize.support import code, make_repo, unchanged
from tests.workspaces.support import write

PARTS = code("""
    def parts(numbers):
        if not numbers:
            raise ValueError("no numbers")
        numbers.sort()
        return (2 * each for each in numbers)
""")
CHECK = code("""
    from m import parts

    assert list(parts([3, 1, 2])) == [2, 4, 6]
    try:
        parts([])
    except ValueError:
        pass
""")
CHANGES = {
    "another_message": ("exception", "no numbers", "nothing"),
    "argument_unchanged": ("arguments", "numbers.sort()", "numbers = sorted(numbers)"),
    "other_contents": ("generator", "2 * each for", "2 * abs(each) for"),
    "no_duplicates": ("generator", "each in numbers)", "each in dict.fromkeys(numbers))"),
}


@slow
def test_messages_arguments_and_what_generators_give_are_compared(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "project", {"m.py": PARTS, "check.py": CHECK})
    for name, (_, old, new) in CHANGES.items():
        write(tmp_path / "candidates" / f"{name}.py", PARTS.replace(old, new))
    write(tmp_path / "candidates" / "right.py", PARTS.replace("2 * each for", "each + each for"))
    with unchanged(repo):
        result = judge(
            tmp_path,
            target="m.py::parts",
            test="python check.py",
            bench={"calls": "recorded", "budget": "100ms"},
        )
    told = {Path(each.candidate.name).stem: each for each in result.verdicts}
    assert told.pop("right").stage == "benchmark"
    for name, verdict in told.items():
        assert (verdict.status, verdict.stage) == ("rejected", "differential"), name
        assert verdict.difference is not None
        assert verdict.difference.kind == CHANGES[name][0], (name, verdict.reason)
        assert verdict.difference.call.startswith("parts("), name
