"""Build a release, test its wheel in empty environments, cut the changelog, commit and tag.

`make release VERSION=0.2.0`. Nothing is committed, tagged or left behind unless the wheel works, on
each Python that is here: it is installed and used without anything else, then the quick tests run
against it.
Publishing is a step of its own: `uv publish`, then `git push --tags`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSION_FILE = ROOT / "src/fanwise/__init__.py"
CHANGELOG = ROOT / "CHANGELOG.md"
UNRELEASED = "## [Unreleased]\n"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TESTS = ("-n", "auto", "--dist", "worksteal", "-m", "not slow")
VERSION_LINE = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def cut(changelog: str, version: str, day: str) -> str:
    """The changelog with what was unreleased under its version, and an empty place for the next."""
    before, found, after = changelog.partition(UNRELEASED)
    if not found:
        raise SystemExit(f"{CHANGELOG.name} has no line {UNRELEASED.strip()!r}")
    if re.match(r"\s*(## |\Z)", after):
        raise SystemExit(f"{CHANGELOG.name} says nothing under {UNRELEASED.strip()!r}")
    if f"## [{version}]" in changelog:
        raise SystemExit(f"{CHANGELOG.name} has a version {version} already")
    return f"{before}{UNRELEASED}\n## [{version}] - {day}\n{after}"


def with_version(module: str, version: str) -> str:
    """The module with another `__version__`."""
    changed, count = VERSION_LINE.subn(f'__version__ = "{version}"', module)
    if count != 1:
        raise SystemExit(f"{VERSION_FILE.name} has {count} lines with __version__, not one")
    return changed


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command to its end; its failure ends the release."""
    print("$", *command, file=sys.stderr)
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout


def find_python(version: str) -> Path | None:
    """A Python of this version: on the path, or from pyenv."""
    found = shutil.which(f"python{version}")
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in [*([Path(found)] if found else []), *installed]:
        command = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return path
    return None


def check_metadata(metadata: str, version: str) -> None:
    """What a package index shows: it must be there, and its links must work from there."""
    head, _, description = metadata.partition("\n\n")
    for line in (f"Version: {version}", "Requires-Python: >=3.11", "Project-URL: Documentation,"):
        if line not in head:
            raise SystemExit(f"the metadata of the wheel has no {line!r}")
    relative = re.findall(r"\]\((?!https://|#)([^)]+)\)", description)
    if not description.strip() or relative:
        raise SystemExit(f"the description has no text, or links that lead nowhere: {relative}")


def check_wheel(wheel: Path, version: str, python: Path) -> None:
    """Install the wheel where nothing else is, use it, and run the quick tests against it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        own = place / "env/bin/python"
        install = ("uv", "pip", "install", "--quiet", "--python", own)
        run("uv", "venv", "--quiet", "--python", python, place / "env")
        run(*install, wheel)
        fanwise = place / "env/bin/fanwise"
        if (said := run(fanwise, "--version", cwd=place).strip()) != f"fanwise {version}":
            raise SystemExit(f"the wheel says {said!r}")
        lines = run("sh", "-c", f"seq 3 | {fanwise} map -- echo line {{}}", cwd=place)
        if lines != "line 1\nline 2\nline 3\n":
            raise SystemExit(f"`fanwise map` of the wheel printed {lines!r}")
        groups = [word for name in ("dev", "browser", "docs") for word in ("--group", name)]
        run(*install, *groups)
        print(run(own, "-m", "pytest", *TESTS), file=sys.stderr)


def main(version: str) -> None:
    """The whole release."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise SystemExit(f"{version!r} is not a version such as 0.2.0 or 0.2.0rc1")
    if run("git", "status", "--porcelain"):
        raise SystemExit("the work tree has changes: commit or remove them first")
    originals = {path: path.read_text() for path in (VERSION_FILE, CHANGELOG)}
    day = datetime.now(UTC).date().isoformat()
    try:
        VERSION_FILE.write_text(with_version(originals[VERSION_FILE], version))
        CHANGELOG.write_text(cut(originals[CHANGELOG], version, day))
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        run("uv", "build", "--quiet", "--out-dir", "dist")
        wheel = next((ROOT / "dist").glob("*.whl"))
        with zipfile.ZipFile(wheel) as file:
            check_metadata(file.read(f"fanwise-{version}.dist-info/METADATA").decode(), version)
        for each in PYTHONS:
            if (python := find_python(each)) is not None:
                check_wheel(wheel, version, python)
            else:
                print(f"There is no Python {each} here: not tried", file=sys.stderr)
    except BaseException:
        for path, text in originals.items():
            path.write_text(text)
        raise
    run("git", "commit", "--quiet", "--message", f"release: {version}", "--", *originals)
    run("git", "tag", "--annotate", f"v{version}", "--message", f"fanwise {version}")
    print(f"Built dist/ and tagged v{version}. To publish: uv publish && git push --follow-tags")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: make release VERSION=0.2.0")
    main(sys.argv[1])
