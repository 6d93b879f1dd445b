"""The top of the page: what ran, when, and what it came to."""

from __future__ import annotations

from typing import Any

from fanwise.matrix.recorded import Recorded
from fanwise.matrix.report.analysis import Analysis
from fanwise.matrix.summary import Total
from fanwise.view.calls import dollars
from fanwise.view.markup import Child, Html, element
from fanwise.view.pieces import duration_text, facts, tile, time, title
from fanwise.view.run_summary import duration, shown_status


def header(found: Recorded, analysis: Analysis) -> Html:
    """Title, status and the numbers that people ask for first."""
    return title(found.run, _tiles(found, analysis))


def _tiles(found: Recorded, analysis: Analysis) -> list[Html]:
    whole = analysis.summary.whole
    cells = len(found.results) + len(found.waiting)
    tiles: list[Html] = [tile("cells", f"{cells:,}", _axes(analysis))]
    share = f"{whole.failed / whole.n:.1%} of those that ended" if whole.n else ""
    tiles.append(tile("failed", f"{whole.failed:,}", share, bad=whole.failed > 0))
    if found.waiting:
        tiles.append(tile("not run", f"{len(found.waiting):,}", "", bad=True))
    for name in analysis.scorers:
        score = whole.scores.get(name)
        if score is not None and score.mean.value is not None:
            text = f"{score.unscored:,} without" if score.unscored else "mean of all"
            tiles.append(tile(name, f"{score.mean.value:.3f}", text))
    if whole.ran_s.p50 is not None:
        p90 = "" if whole.ran_s.p90 is None else f"p90 {duration_text(whole.ran_s.p90)}"
        tiles.append(tile("median time", duration_text(whole.ran_s.p50), p90))
    calls = sum(each.calls for each in found.results)
    ran = sum(each.ran_s for each in found.results)
    tiles.append(tile("calls", f"{calls:,}", f"{duration(ran)} one after another"))
    tiles.append(tile("tokens", _tokens(whole.input_tokens, whole.output_tokens), "in / out"))
    tiles.append(tile("dollars", _total(whole.usd), _judges(found)))
    return tiles


def _axes(analysis: Analysis) -> str:
    names = (("model", "models"), ("strategy", "strategies"), ("input", "inputs"))
    counted = [
        (len({c.axes[axis] for c in analysis.cells} - {"-"}), words) for axis, words in names
    ]
    return ", ".join(f"{count:,} {words}" for count, words in counted)


def _tokens(sent: Total, given: Total) -> str:
    return f"{_many(sent)} / {_many(given)}"


def _many(total: Total) -> str:
    if total.total is None:
        return f"≥ {_short(total.known)}" if total.known else "?"
    return _short(total.total)


def _short(count: float) -> str:
    if count >= 10_000_000:
        return f"{count / 1e6:.0f}M"
    if count >= 1_000_000:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 10_000 else f"{count:,.0f}"


def _total(usd: Total) -> str:
    if usd.total is None:
        return f"≥ {money(usd.known)}" if usd.known else "unknown"
    return money(usd.total)


def money(usd: float) -> str:
    """Dollars, with as many digits as a cheap call needs."""
    return f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${dollars(float(f'{usd:.2g}'))}"


def _judges(found: Recorded) -> str:
    spent = [each.scoring_usd for each in found.results]
    known = sum(each for each in spent if each is not None)
    return f"and {money(known)} for judges" if known else ""


def environment(found: Recorded) -> Html:
    """What it ran with."""
    env: dict[str, Any] = found.environment or {}
    packages: dict[str, str] = env.get("packages") or {}
    git: dict[str, Any] = env.get("git") or {}
    rows: list[tuple[str, Child]] = [
        ("run", element("code", found.run.id)),
        ("status", shown_status(found.run) + (f": {found.run.error}" if found.run.error else "")),
        ("started", time(found.run.created_at)),
        ("ended", "not yet" if found.run.ended_at is None else time(found.run.ended_at)),
        ("fanwise", packages.get("fanwise", "unknown")),
        ("Python", str(env.get("python", "unknown"))),
        ("platform", str(env.get("platform", "unknown"))),
        ("commit", _commit(git)),
        ("spec", element("code", found.run.digest)),
    ]
    table = facts("What it ran with", rows)
    listed = ", ".join(f"{name} {version}" for name, version in packages.items())
    more = element(
        "details",
        element("summary", f"{len(packages)} packages"),
        element("p", listed, class_="small"),
    )
    return element("div", table, more if packages else None)


def _commit(git: dict[str, Any]) -> Child:
    if not git.get("commit"):
        return "not in a repository"
    changed = {True: "with uncommitted changes", False: "clean", None: ""}[git.get("dirty")]
    return [element("code", str(git["commit"])[:12]), f" {changed}"]
