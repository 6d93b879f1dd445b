"""`fanwise report`: where it goes, what it prints, and whom it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fanwise.view.html import is_report
from tests.cli.support import Place
from tests.matrix.real_run import RUN, record


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "journal.db"
    record(path)
    return path


def test_it_writes_the_page_and_prints_the_summary(place: Place, journal: Path) -> None:
    done = place.run("report", RUN, "--journal", str(journal))
    assert done.returncode == 0
    assert b"the report is in reviews.html" in done.stderr
    for word in (b"MODEL", b"EXACT", b"P (HOLM)", b"PASS@2"):
        assert word in done.stdout
    page = (place.path / "reviews.html").read_text()
    assert page.startswith("<!doctype html>") and is_report(page)
    assert [each.name for each in place.path.iterdir()] == ["reviews.html"]
    again = place.run("report", RUN, "--journal", str(journal))  # an earlier one is replaced
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_json_is_one_document(place: Place, journal: Path) -> None:
    done = place.run("report", RUN, "--journal", str(journal), "-o", "x.html", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr, document["report"]) == (0, b"", "x.html")
    assert (document["run"], document["cells"], document["waiting"]) == (RUN, 52, 8)
    assert document["summary"]["groups"] and document["contrasts"] and document["pass_at_k"]
    assert "packages" in document["environment"]


def test_what_is_no_report_is_not_overwritten(place: Place, journal: Path) -> None:
    mine = place.path / "reviews.html"
    mine.write_text("<!doctype html><p>mine")
    done = place.run("report", RUN, "--journal", str(journal))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is not a report of fanwise" in done.stderr and b"--output FILE" in done.stderr
    assert mine.read_text() == "<!doctype html><p>mine"
    done = place.run("report", RUN, "--journal", str(journal), "-o", str(place.path))
    assert done.returncode == 2 and b"is not a file" in done.stderr
    done = place.run("report", RUN, "--journal", str(journal), "-o", "no/such/x.html")
    assert done.returncode == 2 and b"no/such/x.html" in done.stderr


def test_a_new_report_has_the_rights_of_any_new_file(place: Place, journal: Path) -> None:
    place.run("report", RUN, "--journal", str(journal))
    (place.path / "other").touch()
    rights = [(place.path / name).stat().st_mode for name in ("reviews.html", "other")]
    assert rights[0] == rights[1]


def test_a_run_of_another_kind_has_none(place: Place) -> None:
    assert place.run("map", "--run", "r", "--", "echo", given=b"a\n").returncode == 0
    done = place.run("report", "r", "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert "no report" in error["message"] and "fanwise show r" in error["next_step"]
    assert place.run("report", "nobody").returncode == 2


def test_a_matrix_of_which_nothing_has_run_has_a_report_too(place: Place) -> None:
    (place.path / "m.yaml").write_text(
        "matrix:\n  name: m\n  models: sim:a?errors=1\n  inputs: [{id: a}]\n"
        "  prompts: {one: {prompt: 'Say {{ input.id }}'}}\n  retry: {times: 0}\n"
    )
    assert place.run("run", "m.yaml").returncode == 1  # all cells failed, and there is no scorer
    run = json.loads(place.run("runs", "--json").stdout)["runs"][0]["id"]
    done = place.run("report", run)
    assert done.returncode == 0 and b"sim:a" in done.stdout
    assert "Say a" in (place.path / f"{run}.html").read_text()
