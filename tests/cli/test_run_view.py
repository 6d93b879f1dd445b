"""`fanwise run FILE --view`: the view is there while the run goes on, and gone with it."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest

from tests.cli.support import Place, end, eventually, release

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_the_page_of_a_run_is_served_while_it_goes_on_and_not_after(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "true")
    place.fifo("gate")
    (place.path / "lines.yaml").write_text(
        "map: {command: [sh, -c, 'cat gate; echo {}'], input: lines.txt}\n"
    )
    (place.path / "lines.txt").write_text("one\n")
    process = place.start("run", "lines.yaml", "--view", "--run", "r")
    assert process.stderr is not None
    found = re.search(
        rb"the view is at (http://127.0.0.1:\d+/runs/r\?token=\S+)\n", process.stderr.readline()
    )
    assert found is not None
    address = found[1].decode()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def is_running() -> bool:
        try:
            with opener.open(address) as page:
                return b"running" in page.read()
        except urllib.error.HTTPError as error:
            return error.code != 404  # it is about to start

    eventually(is_running)
    release(place.path / "gate")
    assert end(process)[:2] == (0, b"one\n")
    with pytest.raises(urllib.error.URLError):
        opener.open(address)
