"""Which system a file is for, and what is said if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.errors import BadSpec, UsageError
from fanwise.specs import names, system, system_of
from fanwise.system_names import BUILT_IN
from tests.specs.support import document


def install(folder: Path, package: str, points: str) -> None:
    """A distribution as an installer leaves it: metadata with entry points."""
    info = folder / f"{package}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[fanwise.systems]\n{points}\n")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def refused(text: str) -> str:
    with pytest.raises(BadSpec) as caught:
        system_of(document(text))
    return caught.value.message


GOOD = """
class Poll:
    name = "poll"
    def runnable(self, document): ...
    def resume(self, spec): ...
SYSTEM = Poll()
"""


def test_a_system_of_another_package_is_found_by_its_entry_point(place: Path) -> None:
    (place / "pollster_good.py").write_text(GOOD)
    install(place, "pollster", "poll = pollster_good:SYSTEM")
    assert "poll" in names()
    assert system_of(document("version: 1\npoll: {}")).name == "poll"
    assert system("poll").name == "poll"


def test_an_unknown_key_names_the_nearest_system(place: Path) -> None:
    assert (
        refused("samples: {}") == "f.yaml:1:1: samples: is not known here; did you mean `sample`?"
    )
    assert refused("x: 1") == (
        "f.yaml:1:1: no top-level key says what to run; "
        "known: map, matrix, optimize, plan, sample, workflow"
    )


def test_two_systems_in_one_file_are_refused() -> None:
    told = refused("sample: {}\nmatrix: {}")
    assert told == "f.yaml:2:1: matrix: a file is for one system, and `sample` stands there too"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "import no_such_thing",
            "cannot be loaded: ModuleNotFoundError: No module named 'no_such_",
        ),
        ("1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        (
            "SYSTEM = 3",
            "is not a system named 'broken'. It needs the name, `runnable` and `resume`",
        ),
    ],
)
def test_a_system_that_cannot_be_loaded_says_why(place: Path, code: str, message: str) -> None:
    module = f"broken_{abs(hash(code))}"
    (place / f"{module}.py").write_text(code)
    install(place, "broken", f"broken = {module}:SYSTEM")
    assert message in refused("broken: {}")


def test_two_packages_with_one_name_are_refused(place: Path) -> None:
    install(place, "first", "poll = first:SYSTEM")
    install(place, "second", "poll = second:SYSTEM")
    with pytest.raises(UsageError, match=r"two packages register a system 'poll': first.*second"):
        system("poll")


def test_a_name_that_nobody_registers_is_said() -> None:
    with pytest.raises(UsageError, match="there is no system 'smaple'; did you mean `sample`"):
        system("smaple")


def test_a_known_system_that_this_version_does_not_have_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(BUILT_IN, "later", "fanwise.later.system:SYSTEM")
    assert refused("later: {}") == "f.yaml:1:1: later: this fanwise has no system 'later' yet"
