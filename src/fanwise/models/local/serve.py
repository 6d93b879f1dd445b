"""The program of the child process: llama.cpp's own server, on a loopback port of its own.

Run as a program by `server.py`. It imports nothing of fanwise, so that it is up in the time that
the weights take. Its stdin is one end of a socket pair: there it reads how to run, as a line of
JSON, and writes its address as a line when it answers; and when the other end closes, its parent
is gone, and it ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from typing import Any

ERRORS = 1
"""How much llama.cpp logs: what goes wrong, and not two lines for each request."""


def parameters(how: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = how["file"]
    params.model_alias = {how["alias"]}
    params.api_keys = [how["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = how["slots"]
    params.n_ctx = how["slots"] * how["ctx"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = how["threads"]
    params.verbosity = ERRORS
    params.endpoint_slots = True
    params.ui = False
    # The context is as asked for, and not what llama.cpp finds to fit.
    params.fit_params = False
    # A prompt that was computed beside another one differs in the last bits, and then in words:
    # the same request shall get the same reply. It would also hold up to 8 GB.
    params.cache_prompt = params.cache_idle_slots = False
    params.cache_ram_mib = 0
    return params


def wait_until_healthy(address: str) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{address}/health") as answer:
                if answer.status == 200:
                    return
        except urllib.error.HTTPError:
            time.sleep(0.01)  # it answers, but is still loading


def main() -> None:
    import xllamacpp

    how = json.loads(sys.stdin.buffer.readline())
    try:
        server = xllamacpp.Server(parameters(how))
    except RuntimeError:
        sys.exit(1)  # llama.cpp has logged why
    address = server.listening_address
    wait_until_healthy(address)
    os.write(0, f"{address}\n".encode())
    sys.stdin.buffer.read()
    os._exit(0)  # without waiting for what it still generates


if __name__ == "__main__":
    main()
