"use strict";
// The list of cells: filtered, and a page at a time. All that comes out of the run is set as text.
function showCells() {
  const PAGE = 40;
  const given = document.getElementById("cells-data").textContent;
  const data = JSON.parse(given);
  const text = (place) => (place === null || place === undefined ? "" : data.texts[place]);
  const cells = data.rows.map((row) => {
    const cell = {};
    data.fields.forEach((name, place) => { cell[name] = row[place]; });
    return cell;
  });

  function make(name, properties = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key === "class") made.className = value;
      else if (key in made) made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  const modelText = (place) => data.names[place];
  const scoresOf = (cell) => (cell.scores || []).filter((each) => each !== null);
  const isWrong = (cell) => scoresOf(cell).some((each) => each[0] !== null && each[0] < 1);
  const unscored = (cell) => scoresOf(cell).some((each) => each[2] !== null);
  const answerOf = (cell) => {
    const last = cell.steps[cell.steps.length - 1];
    return last && last[2] !== null ? text(last[2]) : "";
  };

  const WHICH = {
    "all": () => true,
    "failed": (cell) => cell.status === "failed",
    "wrong (a score below 1)": isWrong,
    "without a score": unscored,
    "not run": (cell) => cell.status === "waiting",
  };

  // What a search looks at, made when it is first needed.
  const haystack = (cell) => {
    if (cell.hay === undefined) {
      const parts = [cell.id, text(cell.error), text(cell.model), modelText(cell.model), text(cell.strategy),
        text(cell.input), text(cell.value)];
      for (const [name, asked, answer] of cell.steps) {
        parts.push(name, text(answer), ...asked.map((each) => text(each[1])));
      }
      for (const each of scoresOf(cell)) parts.push(text(each[1]), text(each[2]));
      cell.hay = parts.join("\n").toLowerCase();
    }
    return cell.hay;
  };

  // -- the filters ---------------------------------------------------------------------------

  const explorer = document.getElementById("explorer");
  explorer.replaceChildren();
  explorer.given = given;
  const search = make("input", { type: "search", placeholder: "in prompts, answers, errors …" });
  const choices = {};
  const bar = make("form", { class: "filters", role: "search" });
  bar.addEventListener("submit", (event) => event.preventDefault());

  function labelled(name, control) {
    control.id = `filter-${name}`;
    bar.append(make("div", {}, make("label", { htmlFor: control.id }, name), control));
    control.addEventListener("input", () => { shown = 0; update(); });
  }

  function choice(name, field, told) {
    const places = [...new Set(cells.map((cell) => cell[field]))];
    const select = make("select", {}, make("option", { value: "" }, "all"),
      ...places.map((place) => make("option", { value: String(place) }, told(place))));
    choices[field] = select;
    labelled(name, select);
  }

  const which = make("select", {}, ...Object.keys(WHICH)
    .filter((name) => name === "all" || cells.some(WHICH[name]))
    .map((name) => make("option", { value: name }, name)));
  labelled("text", search);
  labelled("show", which);
  choice("model", "model", modelText);
  choice("strategy", "strategy", text);
  choice("input", "input", text);
  const count = make("p", { class: "count", role: "status" });
  const list = make("div", { class: "cells" });
  const previous = make("button", { type: "button" }, "← previous");
  const next = make("button", { type: "button" }, "next →");
  const pager = make("div", { class: "pager" }, previous, next);
  const clear = make("button", { type: "button" }, "clear filters");
  bar.append(clear);
  explorer.append(bar, count, list, pager);

  let shown = 0;
  previous.addEventListener("click", () => turn(-PAGE));
  next.addEventListener("click", () => turn(PAGE));
  clear.addEventListener("click", () => choose({}));
  function turn(by) {
    shown += by;
    update();
    count.scrollIntoView({ block: "start" });
  }

  function matching() {
    const wanted = search.value.trim().toLowerCase();
    const fits = WHICH[which.value] || WHICH.all;
    const places = Object.entries(choices).filter(([, select]) => select.value !== "");
    return cells.filter((cell) => fits(cell)
      && places.every(([field, select]) => String(cell[field]) === select.value)
      && (wanted === "" || haystack(cell).includes(wanted)));
  }

  function update() {
    const found = matching();
    shown = Math.max(0, Math.min(shown, found.length - 1));
    shown -= shown % PAGE;
    const page = found.slice(shown, shown + PAGE);
    list.replaceChildren(...page.map(row));
    const range = found.length > PAGE ? `${shown + 1}–${shown + page.length} of ` : "";
    const of = found.length === cells.length ? "" : ` (of ${cells.length.toLocaleString()})`;
    count.textContent = `${range}${found.length.toLocaleString()} cells${of}`;
    previous.disabled = shown === 0;
    next.disabled = shown + PAGE >= found.length;
    pager.hidden = found.length <= PAGE;
  }

  // -- a cell --------------------------------------------------------------------------------

  function scoreText(score) {
    if (score === null || score === undefined) return "–";
    if (score[2] !== null) return "error";
    return score[0] === null ? "–" : String(Math.round(score[0] * 1000) / 1000);
  }

  function chip(name, score) {
    const value = score && score[2] === null ? score[0] : null;
    const kind = value === null ? "" : value >= 1 ? " good" : value < 0.5 ? " bad" : "";
    return make("span", { class: `chip${kind}` }, `${name} ${scoreText(score)}`);
  }

  function row(cell) {
    const failed = cell.status === "failed";
    const said = failed ? text(cell.error) : cell.status === "waiting" ? text(cell.error) : answerOf(cell);
    const head = make("summary", {},
      make("i", { class: `swatch ${data.colours[cell.model] || ""}` }),
      make("span", { class: "where" },
        `${modelText(cell.model)} · ${text(cell.strategy)} · ${text(cell.input)} #${cell.repeat}`),
      make("span", { class: failed ? "said bad" : "said" }, said.slice(0, 200)),
      make("span", { class: "chips" },
        ...(failed ? [make("span", { class: "chip bad" }, "failed")] : []),
        ...data.scorers.map((name, place) => (cell.scores && cell.scores[place]
          ? chip(name, cell.scores[place]) : null)).filter((each) => each !== null)));
    const made = make("details", { class: "cell" }, head);
    made.addEventListener("toggle", () => {
      if (made.open && made.childElementCount === 1) made.append(inside(cell));
    });
    return made;
  }

  const block = (title, body, kind = "") => make("div", { class: `block ${kind}` },
    make("h4", {}, title), make("pre", {}, body));

  function inside(cell) {
    const body = make("div", { class: "inside" });
    const given = data.inputs[String(cell.input)];
    if (given !== null && given !== undefined) body.append(block("input", text(given)));
    const wanted = new Set((cell.expected || []).filter((place) => place !== null));
    for (const place of wanted) body.append(block("expected", text(place), "expected"));
    for (const [name, asked, answer] of cell.steps) {
      const step = cell.steps.length > 1 && name !== "failed" ? `${name}: ` : "";
      for (const [role, content] of asked) body.append(block(`${step}${role}`, text(content)));
      if (answer !== null) body.append(block(`${step}answer`, text(answer), "answer"));
    }
    if (cell.value !== null) body.append(block("value", text(cell.value), "answer"));
    cell.samples.forEach((place, number) => {
      body.append(block(`sample ${number + 1}`, text(place)));
    });
    if (cell.error !== null) body.append(block("error", text(cell.error), "error"));
    data.scorers.forEach((name, place) => {
      const score = cell.scores[place];
      if (!score) return;
      const why = text(score[1]) || text(score[2]);
      if (why) body.append(block(`${name} ${scoreText(score)}`, why, score[2] === null ? "" : "error"));
    });
    body.append(make("p", { class: "small" }, numbers(cell)));
    return body;
  }

  function numbers(cell) {
    const seconds = (value) => (value === null ? "?" : `${value.toFixed(3)} s`);
    const known = (value) => (value === null ? "?" : value.toLocaleString("en"));
    const parts = [`cell ${cell.id}`, `calls ${cell.calls}`, `ran ${seconds(cell.ran_s)}`,
      `queued ${seconds(cell.queued_s)}`, `backoff ${seconds(cell.backoff_s)}`];
    if (cell.cached) parts.push(`${cell.cached} of the calls from the cache`);
    if (cell.first_token_s !== null) parts.push(`first token ${seconds(cell.first_token_s)}`);
    parts.push(`tokens ${known(cell.input_tokens)} in, ${known(cell.output_tokens)} out`);
    const dollars = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
    const partly = cell.usd_known ? `≥ ${dollars(cell.usd_known)}` : "unknown";
    parts.push(`dollars ${cell.usd === null ? partly : dollars(cell.usd)}`);
    if (cell.scoring_usd !== 0) parts.push(`judges ${cell.scoring_usd === null ? "$ unknown" : dollars(cell.scoring_usd)}`);
    return parts.join(" · ");
  }

  // -- answers side by side: inputs down, models and strategies across ------------------------

  function sideBySide(place) {
    const columns = [...new Map(cells.map((cell) =>
      [`${cell.model} ${cell.strategy}`, [cell.model, cell.strategy]])).values()];
    const inputs = [...new Set(cells.map((cell) => cell.input))];
    const answers = new Map();
    for (const cell of cells) {
      const key = `${cell.input} ${cell.model} ${cell.strategy}`;
      answers.set(key, [...(answers.get(key) || []), cell]);
    }
    const body = make("tbody");
    const table = make("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Answers side by side" },
      make("table", { class: "answers" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "input"),
        ...columns.map(([model, strategy]) => make("th", { scope: "col" },
          make("i", { class: `swatch ${data.colours[model] || ""}` }), ` ${modelText(model)} · ${text(strategy)}`)))), body));
    const said = (cell) => make("div", { class: "answer-of" },
      ...data.scorers.map((name, number) => (cell.scores && cell.scores[number]
        ? chip(name, cell.scores[number]) : null)),
      make("pre", { class: cell.status === "done" ? "" : "bad" },
        cell.status === "done" ? answerOf(cell) : text(cell.error) || cell.status));
    const line = (input) => {
      const some = cells.find((cell) => cell.input === input);
      const wanted = [...new Set((some.expected || []).filter((each) => each !== null))];
      return make("tr", {}, make("th", { scope: "row" }, text(input), make("pre", {}, text(data.inputs[String(input)])),
        ...wanted.map((each) => make("pre", { class: "expected" }, `expected: ${text(each)}`))),
      ...columns.map(([model, strategy]) => make("td", {},
        ...(answers.get(`${input} ${model} ${strategy}`) || []).map(said))));
    };
    const more = make("button", { type: "button" }, "more inputs");
    const open = make("button", { type: "button", "aria-expanded": "false" }, "answers side by side");
    const grow = () => {
      const done = body.childElementCount;
      body.append(...inputs.slice(done, done + PAGE).map(line));
      more.hidden = body.childElementCount >= inputs.length;
    };
    more.addEventListener("click", grow);
    table.hidden = more.hidden = true;
    open.addEventListener("click", () => {
      table.hidden = !table.hidden;
      open.setAttribute("aria-expanded", String(!table.hidden));
      if (body.childElementCount === 0) grow();
      more.hidden = table.hidden || body.childElementCount >= inputs.length;
    });
    place.append(open, table, more);
  }
  const beside = document.getElementById("side-by-side");
  if (beside !== null) { beside.replaceChildren(); sideBySide(beside); }

  // -- from the heat maps to the cells -------------------------------------------------------

  function choose(wanted) {
    search.value = "";
    which.value = "all";
    for (const [field, select] of Object.entries(choices)) {
      const place = wanted[field] === undefined ? -1 : data.texts.indexOf(wanted[field]);
      select.value = place < 0 ? "" : String(place);
    }
    shown = 0;
    update();
  }

  for (const each of document.querySelectorAll("td[data-model]")) {
    each.tabIndex = 0;
    each.setAttribute("role", "link");
    const go = () => {
      choose({ ...each.dataset });
      document.getElementById("cells").scrollIntoView();
    };
    each.onclick = go;
    each.onkeydown = (event) => { if (event.key === "Enter") go(); };
  }

  update();
}
showCells();
// In the live view: newer cells, unless somebody reads or filters those that are there.
document.onresults = () => {
  const explorer = document.getElementById("explorer");
  if (explorer === null || explorer.given === document.getElementById("cells-data").textContent) return;
  const used = [explorer, document.getElementById("side-by-side")].filter((each) => each !== null)
    .some((each) => each.contains(document.activeElement) || each.querySelector("details[open], [aria-expanded=true]"))
    || [...explorer.querySelectorAll("input, select")].some((each) => each.value !== "" && each.value !== "all");
  if (!used) showCells();
};
