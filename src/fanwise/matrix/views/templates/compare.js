"use strict";
// The cells of two runs side by side. All that comes out of the runs is set as text.
(() => {
  const PAGE = 40;
  const { comparisons } = JSON.parse(document.getElementById("pairs-data").textContent);

  function make(name, properties = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key === "class") made.className = value;
      else made[key] = value;
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  const known = (value) => value !== null && value !== undefined;
  const change = (pair, scorer) => {
    const scores = pair.scores[scorer] || [];
    return known(scores[0]) && known(scores[1]) ? scores[1] - scores[0] : null;
  };
  const WHICH = {
    changed: (by) => by !== null && by !== 0,
    worse: (by) => by !== null && by < 0,
    better: (by) => by !== null && by > 0,
    "without both scores": (by) => by === null,
    all: () => true,
  };

  const bar = make("form", { class: "filters" });
  bar.addEventListener("submit", (event) => event.preventDefault());
  function control(name, made) {
    made.id = `filter-${name}`;
    bar.append(make("div", {}, make("label", { htmlFor: made.id }, name), made));
    made.addEventListener("input", () => { shown = 0; update(); });
    return made;
  }
  const options = (names) => names.map((name, place) => make("option", { value: String(place) }, name));
  const which = control("runs", make("select", {}, ...options(comparisons.map((each) => each.title))));
  const kind = control("show", make("select", {}, ...options(Object.keys(WHICH))));
  const scorer = control("score", make("select"));
  const search = control("text", make("input", { type: "search", placeholder: "in inputs and answers …" }));
  const count = make("p", { class: "count" });
  count.setAttribute("role", "status");
  const list = make("div", { class: "cells" });
  const more = make("button", { type: "button" }, "more");
  more.addEventListener("click", () => { shown += PAGE; update(); });
  document.getElementById("pairs-list").append(bar, count, list, more);
  let shown = 0;

  const scoreText = (value) => (known(value) ? String(Math.round(value * 1000) / 1000) : "–");
  const block = (title, body, style) => make("div", { class: `block ${style}` },
    make("h4", {}, title), make("pre", {}, body));

  function row(pair, names, scorers) {
    const by = change(pair, Number(scorer.value));
    const scores = pair.scores[Number(scorer.value)] || [null, null];
    const style = by === null ? "" : by < 0 ? " bad" : by > 0 ? " good" : "";
    const [model, strategy, input, repeat] = pair.place;
    const side = (place) => make("div", { class: "side" },
      block(names[place], pair.answers[place], pair.failed[place] ? "error" : "answer"),
      ...scorers.map((name, number) => make("p", { class: "small" },
        `${name} ${scoreText(pair.scores[number][place])}: ${pair.reasons[number][place] || ""}`)));
    return make("details", { class: "cell", open: list.childElementCount < 3 },
      make("summary", {},
        make("span", { class: "where" }, `${model} · ${strategy} · ${input} #${repeat}`),
        make("span", { class: "chips" },
          make("span", { class: `chip${style}` }, `${scoreText(scores[0])} → ${scoreText(scores[1])}`))),
      make("div", { class: "inside" },
        pair.input ? block("input", pair.input, "") : null,
        ...scorers.map((name, number) => (pair.expected[number] === "?" ? null
          : block(`expected by ${name}`, pair.expected[number], ""))),
        make("div", { class: "pair" }, side(0), side(1))));
  }

  function update() {
    const found = comparisons[Number(which.value)];
    const fits = Object.values(WHICH)[Number(kind.value)];
    const wanted = search.value.trim().toLowerCase();
    const number = Number(scorer.value);
    const pairs = found.pairs
      .filter((pair) => fits(change(pair, number)))
      .filter((pair) => wanted === "" || [...pair.place, pair.input, ...pair.answers].join("\n")
        .toLowerCase().includes(wanted))
      .sort((one, two) => (change(one, number) ?? 0) - (change(two, number) ?? 0));
    count.textContent = `${pairs.length.toLocaleString("en")} of ${found.pairs.length.toLocaleString("en")} pairs`;
    list.replaceChildren();
    for (const pair of pairs.slice(0, shown + PAGE)) list.append(row(pair, found.names, found.scorers));
    more.hidden = shown + PAGE >= pairs.length;
  }

  function chooseRuns() {
    scorer.replaceChildren(...options(comparisons[Number(which.value)].scorers));
    update();
  }
  which.addEventListener("input", chooseRuns);
  chooseRuns();
})();
