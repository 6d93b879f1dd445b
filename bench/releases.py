"""Histories to measure on where only a package index can be reached: one commit for each release.

Hypothesis, Strawberry and Checkov publish a release for every change that is merged, or nearly so.
Their source archives, one after another, are therefore a history: what two of them differ in is
what somebody changed together. Each is made a commit of a repository in the cache folder. Only
Python files are in it.
"""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urljoin

from fanwise.cache_folder import cache_folder

PROJECTS = ("hypothesis", "strawberry-graphql", "checkov")
"""None of them was looked at while the split was tuned."""
RELEASES = 200
INDEX = "https://pypi.org/simple"
_LINK = re.compile(r'<a[^>]* href="([^"#]+)[^"]*"[^>]*>([^<]+)\.tar\.gz</a>')
_FINAL = re.compile(r"[\d.]+")
_AT_ONCE = 4


def release_history(project: str) -> Path:
    """The repository with the last releases of a project. `OSError` if it cannot be fetched."""
    repo = cache_folder() / "bench" / "releases" / project
    if not (repo / "done").exists():
        repo.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
        command = ["git", "fast-import", "--quiet", "--force"]
        with subprocess.Popen(command, cwd=repo, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            for piece in _stream(project):
                process.stdin.write(piece)
        if process.returncode:
            raise OSError(f"git fast-import ended with {process.returncode}")
        subprocess.run(["git", "reset", "-q", "--hard"], cwd=repo, check=True)
        (repo / "done").touch()
    return repo


def _stream(project: str) -> Iterator[bytes]:
    """Commits for `git fast-import`: of each release, what differs from the one before it."""
    known: dict[str, str] = {}
    found = _archives(project)[-RELEASES:]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for (version, _), data in zip(
            found, threads.map(_get, (url for _, url in found)), strict=True
        ):
            files = dict(_python_files(data))
            name = ".".join(map(str, version))
            yield b"commit refs/heads/main\ncommitter bench <bench@localhost> 0 +0000\n"
            yield b"data %d\n%s\n" % (len(name), name.encode())
            digests = {path: hashlib.sha256(text).hexdigest() for path, text in files.items()}
            for path in known.keys() - digests.keys():
                yield b"D %s\n" % path.encode()
            for path, digest in digests.items():
                if known.get(path) != digest:
                    yield b"M 100644 inline %s\n" % path.encode()
                    yield b"data %d\n%s\n" % (len(files[path]), files[path])
            known = digests


def _archives(project: str) -> list[tuple[tuple[int, ...], str]]:
    """The final releases with the addresses of their source archives, oldest first."""
    page = f"{INDEX}/{project}/"
    found = {}
    for address, name in _LINK.findall(_get(page).decode()):
        version = name.rpartition("-")[2]
        if _FINAL.fullmatch(version):
            found[tuple(map(int, version.split(".")))] = urljoin(page, address)
    return sorted(found.items())


def _python_files(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            path = member.name.partition("/")[2]
            file = archive.extractfile(member) if path.endswith(".py") else None
            if file is not None:
                yield path, file.read()


def _get(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=180) as answer:
        content: bytes = answer.read()
    return content


if __name__ == "__main__":
    for each in sys.argv[1:] or PROJECTS:
        print(release_history(each))
