"""The pages over real runs of each system: what is to be seen there, all of it as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from .projects import RUNS, SCRIPT, make_runs, project
from .test_pages import Pages


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("systems")
    make_runs(project(found))
    return found


@pytest.fixture
def pages(folder: Path) -> Iterator[Pages]:
    made = Pages(folder / ".fanwise" / "journal.db")
    yield made
    made.close()


def links(page: str, part: str) -> list[str]:
    """The addresses in a page that begin so."""
    found = [each.partition('"')[0].replace("&amp;", "&") for each in page.split('href="')[1:]]
    return [each for each in found if each.startswith(part)]


@pytest.mark.parametrize("run", RUNS)
def test_no_page_of_any_system_has_code_in_it(pages: Pages, run: str) -> None:
    items = pages.get(f"/runs/{run}/items").text
    own = links(items, f"/runs/{run}/item?")
    assert own or run == "flow"
    seen = 0
    for address in (f"/runs/{run}", f"/runs/{run}/live", f"/runs/{run}/sections", *own[:5]):
        page = pages.get(address)
        assert page.status == 200, (address, page.text)
        assert SCRIPT not in page.text, address
        seen += page.text.count("alert(1)")
    assert SCRIPT not in items
    assert seen, "the hostile text is shown, as text"


@pytest.mark.parametrize("run", RUNS)
def test_no_two_parts_of_a_page_have_the_same_name(pages: Pages, run: str) -> None:
    """With a screen reader one goes from part to part by name."""
    page = pages.get(f"/runs/{run}/live").text + pages.get(f"/runs/{run}/sections").text
    names = re.findall(r'role="region" aria-label="([^"]*)"', page)
    names += re.findall(r'<h2 id="[^"]*-title">([^<]*)', page)
    assert sorted(names) == sorted(set(names))


def test_cells_are_found_by_axis_score_and_state(pages: Pages) -> None:
    def keys(query: str) -> int:
        return len(links(pages.get(f"/runs/sentiment/items?{query}").text, "/runs/sentiment/item?"))

    assert keys("") == 8  # a control has no model: 2 x 2, and 2 of each
    assert keys("of_input=a") == 4
    assert keys("of_input=a&of_strategy=plain") == 2
    assert keys("of_input=nowhere") == 0
    assert pages.get("/runs/sentiment/items?of_nosuch=1").status == 200
    assert keys("of_nosuch=1") == keys("of_now=True") == 0
    assert 3 <= keys("score=exact&most=0") < keys("score=exact&most=1") == 8
    assert keys("score=exact&most=nonsense") == 8
    assert keys("status=waiting") == 0
    assert keys("q=BROKE") == 0 and keys("q=plain") == 4
    assert keys("ran=1000") == 0


def test_a_search_that_takes_long_says_from_where_it_goes_on(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanwise.view.item_table.SEARCH_S", -1.0)
    page = pages.get("/runs/sentiment/items?of_input=b").text
    assert "Search on" in page and "after=0" in page


def test_a_cell_shows_its_prompt_expected_value_scores_and_program(pages: Pages) -> None:
    listed = pages.get("/runs/sentiment/items?of_input=b&of_strategy=plain").text
    page = pages.get(links(listed, "/runs/sentiment/item?")[0]).text
    for text in ("Is it good? It broke", "expected by exact", "exact: ", "from fanwise.models"):
        assert text in page, text
    assert "Tokens</th>" in page


def test_a_line_shows_its_command_and_how_it_ended(pages: Pages) -> None:
    items = links(pages.get("/runs/lines/items").text, "/runs/lines/item?")
    page = pages.get(items[1]).text
    assert "Command" in page and "test 2 != 2" in page
    assert "exited with code 1" in page


def test_a_sample_shows_its_chains_and_what_was_wrong_with_each(pages: Pages) -> None:
    (item,) = links(pages.get("/runs/greet/items?in=prompts").text, "/runs/greet/item?")
    page = unquote(pages.get(item).text)
    assert "Chain 1" in page and "Chain 2" in page and "repair 1" in page
    assert "failed" in page and "Say hello" in page


def test_a_plan_shows_the_difference_that_each_leaf_made(pages: Pages) -> None:
    page = pages.get("/runs/rename/sections").text
    assert '<span class="minus">-def sum_up(prices)' in page
    assert '<span class="plus">+def total(prices)' in page
    assert "all is well" in page, "the log of the check"


def test_a_result_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    place = project(tmp_path)
    assert place.run("run", "plan.yaml", "--yes").returncode == 0
    prices = tmp_path / "shop" / "cart" / "prices.py"
    prices.write_text("changed since\n")
    pages = Pages(tmp_path / ".fanwise" / "journal.db")
    refused = pages.post("/runs/rename/act", "action=apply")
    assert (refused.status, prices.read_text()) == (409, "changed since\n")
    assert "the result was not applied" in refused.text and "prices.py" in refused.text
    assert pages.post("/runs/rename/act", "action=rollback").status == 303
    assert pages.post("/runs/rename/act", "action=apply").status == 409, "it was rolled back"
    pages.close()


def test_a_workflow_shows_its_graph_and_asks_its_question(pages: Pages) -> None:
    assert "approve" in pages.get("/runs/flow").text
    page = pages.get("/runs/flow/sections").text
    assert "<svg" in page and "waits for an answer" in page


def test_the_results_are_sent_once(pages: Pages) -> None:
    page = pages.get("/runs/sentiment/sections").text
    address = page.split('hx-get="')[1].partition('"')[0]
    assert pages.get(address).status == 204
    assert pages.get("/runs/sentiment/sections?seen=another").status == 200


def test_results_are_shown_before_everything_has_run(tmp_path: Path) -> None:
    """A gate that is not reached, and a strategy of which no cell has ended."""
    place = project(tmp_path)
    flow = tmp_path / "flow.yaml"
    flow.write_text(flow.read_text().replace("printf", "exit 1; printf"))
    assert place.run("run", "flow.yaml", "--run", "flow").returncode == 1
    assert place.run("run", "matrix.yaml", "--only", "strategy=good").returncode == 0
    pages = Pages(tmp_path / ".fanwise" / "journal.db")
    for run in ("flow", "sentiment"):
        page = pages.get(f"/runs/{run}/sections").text
        assert "cannot be shown" not in page and "<section" in page
    assert "waiting" in pages.get("/runs/sentiment/items?status=waiting").text
    pages.close()
