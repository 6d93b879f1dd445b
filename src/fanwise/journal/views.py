"""Views for people who query a journal with `sqlite3` or pandas.

`calls` has every attempt of every call of every run. `cells` and `scores` belong to matrices, which
keep the definitions of their cells as inputs of the run (see `fanwise.matrix.state.definitions`);
the keys of a cell's items begin with the cell's key. Views hold no data, so they are created again
after each migration instead of being migrated. They avoid `->>`, which older SQLites lack.
"""

from __future__ import annotations

from sqlite3 import Connection


def _first_word(text: str) -> str:
    return f"substr({text}, 1, instr({text} || ' ', ' ') - 1)"


_CALLS = f"""
SELECT run, CASE WHEN whole IS NOT NULL THEN {_first_word("whole")} END AS cell,
    CASE WHEN whole IS NULL THEN NULL
        WHEN substr(whole, instr(whole, ' ') + 1, 6) = 'score ' THEN 'score'
        ELSE 'answer' END AS part,
    path, item, number, call, caps, started_at, queued_s, ran_s, backoff_s, first_token_s, lag_s,
    in_flight, requests, tokens, input_tokens, output_tokens, cached_tokens, usd, error, worker
FROM (
    SELECT f.run_id AS run, f.path AS path, a.key AS item, a.*,
        CASE WHEN r.kind <> 'matrix' THEN NULL WHEN f.path = 'cells' THEN a.key
            WHEN substr(f.path, 1, 6) = 'cells/' THEN substr(f.path, 7) END AS whole
    FROM attempts a JOIN fan_outs f ON f.id = a.fan_out JOIN runs r ON r.id = f.run_id
    WHERE a.call IS NOT NULL)"""

_DEFINED = """
    SELECT r.id AS run, i.input_index AS number, f.id AS fan_out, CAST(i.data AS TEXT) AS data,
        json_extract(CAST(i.data AS TEXT), '$.cell') AS cell
    FROM inputs i JOIN runs r ON r.id = i.run_id
    LEFT JOIN fan_outs f ON f.run_id = r.id AND f.path = 'cells'
    WHERE r.kind = 'matrix'"""

_AXES = """json_extract(d.data, '$.model') AS model,
    json_extract(d.data, '$.strategy') AS strategy, json_extract(d.data, '$.input') AS input,
    json_extract(d.data, '$.repeat') AS repeat, coalesce(json_extract(d.data, '$.now'), 1) AS now"""


def _whole(column: str) -> str:
    """A sum, or NULL if a part of it is unknown."""
    return f"CASE WHEN count(*) = count({column}) THEN sum({column}) END AS {column}"


_CELLS = f"""
WITH defined AS ({_DEFINED}),
spent AS (
    SELECT run, cell, count(*) AS calls, sum(queued_s) AS queued_s, sum(ran_s) AS ran_s,
        sum(backoff_s) AS backoff_s, min(first_token_s) AS first_token_s,
        {_whole("input_tokens")}, {_whole("output_tokens")}, {_whole("usd")}
    FROM calls WHERE part = 'answer' AND coalesce(requests, 1) > 0 GROUP BY run, cell),
judged AS (
    SELECT run, cell, {_whole("usd")} FROM calls WHERE part = 'score' GROUP BY run, cell),
ended AS (
    SELECT d.run AS run, d.cell AS cell, d.number AS number,
        sum(i.status = 'done') AS done, count(*) AS steps,
        max(CASE WHEN i.status = 'failed' THEN coalesce(i.error, 'null') END) AS error,
        min(coalesce(i.started_at, i.ended_at - i.ran_s)) AS started_at,
        max(i.ended_at) AS ended_at, sum(i.ran_s) AS ran_s
    FROM defined d JOIN json_each(d.data, '$.steps') s
    LEFT JOIN items i ON i.fan_out = d.fan_out AND i.key = d.cell || ' ' || s.value
    GROUP BY d.run, d.number)
SELECT d.run AS run, d.cell AS cell, {_AXES},
    CASE WHEN e.done = e.steps THEN 'done' WHEN e.error IS NOT NULL THEN 'failed'
        ELSE 'waiting' END AS status,
    json_extract(a.value, '$.text') AS text, json_extract(a.value, '$.value') AS value,
    e.error AS error, e.started_at AS started_at, e.ended_at AS ended_at,
    coalesce(p.calls, 0) AS calls, coalesce(p.queued_s, 0.0) AS queued_s,
    coalesce(p.ran_s, e.ran_s, 0.0) AS ran_s, coalesce(p.backoff_s, 0.0) AS backoff_s,
    p.first_token_s AS first_token_s,
    CASE WHEN p.calls IS NULL THEN 0 ELSE p.input_tokens END AS input_tokens,
    CASE WHEN p.calls IS NULL THEN 0 ELSE p.output_tokens END AS output_tokens,
    CASE WHEN p.calls IS NULL THEN 0.0 ELSE p.usd END AS usd,
    CASE WHEN j.cell IS NULL THEN 0.0 ELSE j.usd END AS scoring_usd
FROM defined d JOIN ended e ON e.run = d.run AND e.number = d.number
LEFT JOIN spent p ON p.run = d.run AND p.cell = d.cell
LEFT JOIN judged j ON j.run = d.run AND j.cell = d.cell
LEFT JOIN items a ON a.fan_out = d.fan_out
    AND a.key = d.cell || ' ' || json_extract(d.data, '$.steps[#-1]')"""

_SCORES = f"""
SELECT d.run AS run, d.cell AS cell, {_AXES}, s.key AS scorer,
    json_extract(i.value, '$.score') AS score, json_extract(i.value, '$.reason') AS reason,
    coalesce(i.status, CASE WHEN EXISTS (
        SELECT 1 FROM json_each(d.data, '$.steps') t JOIN items f
            ON f.fan_out = d.fan_out AND f.key = d.cell || ' ' || t.value
        WHERE f.status = 'failed') THEN 'skipped' ELSE 'waiting' END) AS status,
    i.error AS error
FROM ({_DEFINED}) d JOIN json_each(d.data, '$.scores') s
LEFT JOIN items i ON i.fan_out = d.fan_out AND i.key = d.cell || ' score ' || s.value"""

VIEWS = {"calls": _CALLS, "cells": _CELLS, "scores": _SCORES}


def drop_views(connection: Connection) -> None:
    """Drop them before a migration: SQLite refuses to rename a table that a view reads."""
    for name in VIEWS:
        connection.execute(f"DROP VIEW IF EXISTS {name}")


def make_views(connection: Connection) -> None:
    """Create them in a file that has none."""
    for name, query in VIEWS.items():
        connection.execute(f"CREATE VIEW {name} AS {query}")
