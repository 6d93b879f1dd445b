"""Candidates that do harm: the run goes on, the verdict says which harm, nothing of it is left."""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from fanwise.errors import SandboxUnavailable, UntestedOriginal
from fanwise.processes.sandbox import unusable
from tests.marks import slow
from tests.optimize.sleepy import judge, make_sleepy, variant
from tests.optimize.support import code, unchanged
from tests.processes.support import box, eventually_now, no_box, state
from tests.workspaces.support import git, write
from tests.workspaces.test_interpreter import make_environment

__all__ = ["box", "no_box"]

needs_sandbox = pytest.mark.skipif(bool(unusable()), reason=unusable() or "there is one")

HARM = {
    "a_sleeps": "time.sleep(10**6)",
    "b_forks": "import os\nfor _ in range(7): os.fork()\ntime.sleep(10**6)",
    "c_allocates": "keep = []\nwhile True: keep.append(b'x' * (1 << 26))",
    "d_prints": "while True: print('x' * (1 << 20))",
    "e_writes": "open({outside!r}, 'w').write('harm')",
    "f_connects": "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=5)",
    "g_kills": "import os, signal\nos.killpg(0, signal.SIGKILL)\ntime.sleep(10**6)",
    "h_kills_all": "import os, signal\nos.kill(-1, signal.SIGKILL)\ntime.sleep(10**6)",
    "i_deletes": "import shutil\nshutil.rmtree({repo!r})",
}
SAYS = {
    "a_sleeps": ("did not end within",),
    "b_forks": ("processes",),
    "c_allocates": ("memory",),
    "d_prints": ("wrote more output",),
    "e_writes": ("outside of its workspace",),
    "f_connects": ("network",),
    "g_kills": ("SIGKILL",),
    "h_kills_all": ("SIGKILL", "lost"),
    "i_deletes": ("outside of its workspace", "exited with code"),
}


@slow
@needs_sandbox
def test_the_run_goes_on_and_each_verdict_says_what_it_did(tmp_path: Path, cache: Path) -> None:
    repo = make_sleepy(tmp_path / "project")
    outside = Path(sys.prefix) / "fanwise-harm"  # not below /tmp: there a sandbox has its own
    for name, harm in HARM.items():
        text = variant(name) + "\n" + harm.format(outside=str(outside), repo=str(repo)) + "\n"
        write(tmp_path / "candidates" / f"{name}.py", text)
    write(tmp_path / "candidates" / "z_good.py", variant("good"))
    with unchanged(repo):
        result = judge(
            tmp_path,
            fields={
                "sandbox": True,
                "timeout": 40,
                "takes": {"memory": "512MB", "processes": 40},
            },
        )
    assert result.failures == {}
    *bad, good = result.verdicts
    assert good.stage == "benchmark", good.reason
    for verdict in bad:
        name = Path(verdict.candidate.name).stem
        assert (verdict.status, verdict.stage) == ("rejected", "test"), (name, verdict.reason)
        assert any(words in verdict.reason for words in SAYS[name]), (name, verdict.reason)
    assert not outside.exists()
    assert list(cache.rglob("*.index")) == []
    assert git(repo, "worktree", "list").count("\n") == 0


def test_a_time_out_leaves_no_grandchild(tmp_path: Path) -> None:
    """Falls short 5: the child is killed, and what it has started goes on."""
    make_sleepy(tmp_path / "project")
    pids = tmp_path / "pids"
    started = code(f"""
        import subprocess, sys
        child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
        )
        open({str(pids)!r}, "a").write(f"{{child.pid}}\\n")
        time.sleep(600)
    """)
    write(tmp_path / "candidates" / "one.py", f"{variant('one')}\n{started}")
    for timeout in (2, 16, 128):  # on a busy machine even the original takes longer to start
        with suppress(UntestedOriginal):
            (verdict,) = judge(tmp_path, fields={"timeout": timeout}).verdicts
        if pids.exists():
            break
    assert "did not end within" in verdict.reason
    (pid,) = map(int, pids.read_text().split())
    eventually_now(lambda: state(pid) in ("", "Z"))


SECRET = "sk-that-no-candidate-may-read"
MARK = "what-it-said"
STEALS = """
import pathlib
found = []
for path in {places!r}:
    try:
        found.append(pathlib.Path(path).read_text())
    except OSError:
        found.append("nothing")
raise ValueError("-".join(["what", "it", "said"]), found)
"""


@slow
@pytest.mark.usefixtures("box")
def test_a_secret_of_the_user_is_in_no_file_that_the_run_wrote(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A candidate reads keys and raises an error with them: they would be in journal and prompt.

    The project is installed into its own environment as `pip install -e` does it.
    """
    repo = make_sleepy(tmp_path / "project", **{".gitignore": ".venv/\n.env\n__pycache__/\n"})
    other = tmp_path / "other"
    write(other / "module.py", "")
    make_environment(repo / ".venv", repo, other)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    with tempfile.TemporaryDirectory(dir=Path.home(), prefix=".fanwise-") as home:
        places = [f"{home}/id_rsa", f"{repo}/.env", f"{tmp_path}/elsewhere", f"{other}/.env"]
        for place in places:
            write(Path(place), SECRET)
        git(repo, "config", "remote.origin.url", f"https://{SECRET}@example.org")
        places.append(f"{repo}/.git/config")
        steals = variant("steals") + "\n" + STEALS.format(places=places)
        write(tmp_path / "candidates" / "a.py", steals)
        write(tmp_path / "candidates" / "b.py", variant("good"))
        monkeypatch.chdir(tmp_path)
        result = judge(tmp_path, fields={"sandbox": True, "timeout": 120}, run="steal")
        assert [each.status for each in result.verdicts] == ["rejected", "undecided"]
        wrote = [each for each in tmp_path.rglob("*") if each.is_file() and str(each) not in places]
        wrote += [each for each in cache.rglob("*") if each.is_file()]
        has = {each: each.read_bytes() for each in wrote}
        assert [str(each) for each, data in has.items() if MARK.encode() in data] != []
        assert [str(each) for each, data in has.items() if SECRET.encode() in data] == []


def test_without_a_sandbox_nothing_of_a_candidate_runs(tmp_path: Path, no_box: None) -> None:
    make_sleepy(tmp_path / "project")
    harm = f"open({str(tmp_path / 'ran')!r}, 'w')"
    write(tmp_path / "candidates" / "one.py", f"{variant('one')}\n{harm}\n")
    with pytest.raises(SandboxUnavailable, match="there is no sandbox on this machine"):
        judge(tmp_path, fields={"sandbox": True})
    assert not (tmp_path / "ran").exists()
