"use strict";
// The tables of fan-outs: rows are shown that have the text and the status.
document.oninput = (event) => {
  const table = event.target.closest(".items");
  if (table === null) return;
  const [text, status] = [table.querySelector("input").value.toLowerCase(), table.querySelector("select").value];
  for (const row of table.querySelectorAll("tbody tr")) {
    row.hidden = (status !== "" && row.dataset.status !== status) || !row.textContent.toLowerCase().includes(text);
  }
};
document.onsubmit = (event) => { if (event.target.closest(".items")) event.preventDefault(); };
