"""The wheel in an environment of its own, without extras: what it weighs, and what it says.

Slow: it is built and installed. Left out where no package index can be reached.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import fanwise
from tests.marks import slow

ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).with_name("uv")
MOST_PACKAGES = 26
MOST_MEGABYTES = 60
"""What the base install may take on disk, itself included, without compiled files."""
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY")

pytestmark = slow


def _uv(*arguments: str | Path) -> None:
    done = subprocess.run(
        [UV, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode and any(word in done.stderr for word in ("fetch", "connect", "dns")):
        pytest.skip(f"there is no package index: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    _uv("build", "--quiet", "--out-dir", folder)
    return folder


@pytest.fixture(scope="module")
def programs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and what it needs."""
    place = tmp_path_factory.mktemp("clean") / "env"
    _uv("venv", "--quiet", "--python", sys.executable, place)
    (wheel,) = built.glob("*.whl")
    _uv("pip", "install", "--quiet", "--python", place / "bin" / "python", wheel)
    return place / "bin"


def _run(programs: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **dict.fromkeys(KEYS, "x")}
    command = [str(programs / "fanwise"), *arguments]
    return subprocess.run(
        command, cwd=folder, env=env, input="1\n2\n", capture_output=True, text=True, check=False
    )


def test_wheel_and_sdist_have_what_they_should(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        (metadata,) = (n for n in names if n.endswith(".dist-info/METADATA"))
        told = file.read(metadata).decode()
    assert "fanwise/py.typed" in names
    assert any(name.endswith("templates/base.html") for name in names)
    assert not any(name.startswith(("tests/", "bench/", "docs/")) for name in names)
    for line in (
        f"Version: {fanwise.__version__}",
        "Requires-Python: >=3.11",
        "License-Expression: MIT",
        "Project-URL: Documentation, https://fanwise.github.io/fanwise/latest/",
        "Description-Content-Type: text/markdown",
    ):
        assert line in told
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file2:
        inside = {name.partition("/")[2] for name in file2.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= inside
    assert not any(name.startswith((".venv", ".site", ".fanwise")) for name in inside)


def test_the_base_install_is_within_its_budget(programs: Path) -> None:
    (site,) = programs.parent.glob("lib/python*/site-packages")
    packages = sorted(path.name for path in site.glob("*.dist-info"))
    size = sum(
        path.stat().st_size
        for path in site.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not path.is_symlink()
    )
    assert len(packages) <= MOST_PACKAGES, packages
    assert size <= MOST_MEGABYTES * 1_000_000, f"{size / 1e6:.0f} MB"


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("openai", ("sample", "hi", "-m", "openai:gpt-5-mini")),
        ("openai", ("sample", "hi", "-m", "ollama:qwen3")),
        ("anthropic", ("sample", "hi", "-m", "anthropic:claude-sonnet-4-5")),
        ("google", ("sample", "hi", "-m", "google:gemini-2.5-flash")),
        ("mistral", ("sample", "hi", "-m", "mistral:mistral-small-latest")),
        ("bedrock", ("sample", "hi", "-m", "bedrock:x")),
        ("local", ("sample", "hi", "-m", "local:smollm2")),
        ("view", ("view",)),
        ("postgres", ("runs", "--journal", "postgresql://localhost/x")),
        ("ray", ("map", "--on", "ray", "--", "echo")),
        ("parquet", ("export", "done", "--format", "parquet", "-o", "x.parquet")),
    ],
)
def test_a_missing_extra_is_one_line_with_the_right_command(
    programs: Path, tmp_path: Path, extra: str, arguments: tuple[str, ...]
) -> None:
    made = _run(programs, tmp_path, "map", "--run", "done", "--", "echo")
    assert (made.returncode, made.stdout) == (0, "1\n2\n"), made.stderr
    done = _run(programs, tmp_path, *arguments)
    assert done.returncode == 2, done.stderr
    told, *steps = done.stderr.splitlines()
    assert told.startswith("fanwise: ") and len(steps) == 1
    assert f"pip install 'fanwise[{extra}]'" in steps[0]
    assert done.stdout == ""
