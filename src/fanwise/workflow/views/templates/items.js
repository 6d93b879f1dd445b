"use strict";
// The tables of fan-outs: rows are shown that have the text and the status.
for (const table of document.querySelectorAll(".items")) {
  const form = table.querySelector("form");
  const [search, status] = [form.querySelector("input"), form.querySelector("select")];
  const rows = [...table.querySelectorAll("tbody tr")];
  const update = () => {
    const text = search.value.toLowerCase();
    for (const row of rows) {
      row.hidden = (status.value !== "" && row.dataset.status !== status.value)
        || !row.textContent.toLowerCase().includes(text);
    }
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
}
