"""The check inside a sandbox, which is how candidates are run by default."""

from __future__ import annotations

import os
import site
import stat
from pathlib import Path

import pytest

from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.differential.check import check_differential
from fanwise.processes import sandbox
from tests.optimize.differential.support import Original, checkout, run

BOXED = Settings()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    problem = sandbox.unusable()
    if problem:
        pytest.skip(problem)
    test = "import tempfile\nfrom mod import f\ntempfile.mkdtemp()\nassert f([3, 1]) == [1, 3]\n"
    folder = tmp_path_factory.mktemp("boxed")
    return Original(folder, "def f(xs): return sorted(xs)\n", test, settings=BOXED)


def test_it_finds_what_differs_and_names_the_call(original: Original) -> None:
    site = checkout(original.folder / "wrong", "def f(xs): return sorted(set(xs))\n")
    finding, difference = run(
        check_differential(original.site, site, original.target, original.baseline, BOXED)
    )
    assert not finding.ok
    assert difference is not None
    assert difference.call == "f([3, 3])"


def test_the_recorded_calls_can_only_be_read(original: Original) -> None:
    plan = Path(original.baseline.plan.file)
    module = f"""
        import os
        try:
            open({str(plan)!r}, "ab").write(b"x")
            os.chmod({str(plan)!r}, 0o600)
        except OSError:
            pass
        def f(xs): return sorted(xs)
    """
    before = (plan.read_bytes(), stat.S_IMODE(plan.stat().st_mode))
    assert original.differs(module) == []
    assert (plan.read_bytes(), stat.S_IMODE(plan.stat().st_mode)) == before


def test_keys_of_the_environment_are_not_seen(
    original: Original, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "secret")
    module = """
        import os
        def f(xs): return sorted(xs) if "OPENAI_API_KEY" not in os.environ else None
    """
    assert original.differs(module) == []


def test_packages_of_the_users_own_are_found_as_in_the_tests(
    original: Original, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(site, "getuserbase", lambda: "/packages")
    module = """
        import os
        BASE = os.environ.get("PYTHONUSERBASE")
        def f(xs): return sorted(xs) if BASE == "/packages" else None
    """
    assert original.differs(module) == []
