"""The views of `journal/views.py` in PostgreSQL's words. A test compares the rows of both.

JSON may hold an escaped NUL, which PostgreSQL refuses to decode; it is shown as U+FFFD.
"""

from __future__ import annotations


def _json(text: str) -> str:
    return rf"replace({text}, '\u0000', '\ufffd')::json"


_CALLS = """
SELECT run, CASE WHEN whole IS NOT NULL THEN split_part(whole, ' ', 1) END AS cell,
    CASE WHEN whole IS NULL THEN NULL
        WHEN substr(whole, strpos(whole, ' ') + 1, 6) = 'score ' THEN 'score'
        ELSE 'answer' END AS part,
    path, item, number, call, caps, started_at, queued_s, ran_s, backoff_s, first_token_s, lag_s,
    in_flight, requests, tokens, input_tokens, output_tokens, cached_tokens, usd, error, worker
FROM (
    SELECT f.run_id AS run, f.path AS path, a.key AS item, a.*,
        CASE WHEN r.kind <> 'matrix' THEN NULL WHEN f.path = 'cells' THEN a.key
            WHEN substr(f.path, 1, 6) = 'cells/' THEN substr(f.path, 7) END AS whole
    FROM attempts a JOIN fan_outs f ON f.id = a.fan_out JOIN runs r ON r.id = f.run_id
    WHERE a.call IS NOT NULL) AS known"""

_DEFINED = f"""
    SELECT run, number, fan_out, data, data ->> 'cell' AS cell FROM (
        SELECT r.id AS run, i.input_index AS number, f.id AS fan_out,
            {_json("convert_from(i.data, 'UTF8')")} AS data
        FROM inputs i JOIN runs r ON r.id = i.run_id
        LEFT JOIN fan_outs f ON f.run_id = r.id AND f.path = 'cells'
        WHERE r.kind = 'matrix') AS found"""

_AXES = """d.data ->> 'model' AS model, d.data ->> 'strategy' AS strategy,
    d.data ->> 'input' AS input, (d.data ->> 'repeat')::int AS repeat,
    coalesce((d.data ->> 'now')::boolean, true) AS now"""


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
        count(*) FILTER (WHERE i.status = 'done') AS done, count(*) AS steps,
        max(CASE WHEN i.status = 'failed' THEN coalesce(i.error, 'null') END) AS error,
        min(coalesce(i.started_at, i.ended_at - i.ran_s)) AS started_at,
        max(i.ended_at) AS ended_at, sum(i.ran_s) AS ran_s
    FROM defined d CROSS JOIN LATERAL json_array_elements_text(d.data -> 'steps') AS s (value)
    LEFT JOIN items i ON i.fan_out = d.fan_out AND i.key = d.cell || ' ' || s.value
    GROUP BY d.run, d.cell, d.number)
SELECT d.run AS run, d.cell AS cell, {_AXES},
    CASE WHEN e.done = e.steps THEN 'done' WHEN e.error IS NOT NULL THEN 'failed'
        ELSE 'waiting' END AS status,
    {_json("a.value")} ->> 'text' AS text, {_json("a.value")} ->> 'value' AS value,
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
    AND a.key = d.cell || ' ' || (d.data -> 'steps' ->> -1)"""

_SCORES = f"""
SELECT d.run AS run, d.cell AS cell, {_AXES}, s.key AS scorer,
    ({_json("i.value")} ->> 'score')::float8 AS score,
    {_json("i.value")} ->> 'reason' AS reason,
    coalesce(i.status, CASE WHEN EXISTS (
        SELECT 1 FROM json_array_elements_text(d.data -> 'steps') AS t (value) JOIN items f
            ON f.fan_out = d.fan_out AND f.key = d.cell || ' ' || t.value
        WHERE f.status = 'failed') THEN 'skipped' ELSE 'waiting' END) AS status,
    i.error AS error
FROM ({_DEFINED}) AS d CROSS JOIN LATERAL json_each_text(d.data -> 'scores') AS s (key, value)
LEFT JOIN items i ON i.fan_out = d.fan_out AND i.key = d.cell || ' score ' || s.value"""

VIEWS = {"calls": _CALLS, "cells": _CELLS, "scores": _SCORES}
