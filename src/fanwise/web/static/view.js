"use strict";
// The live view: news from the journal, times in the reader's zone, and the keyboard.
(() => {
  const told = document.getElementById("connection");
  const source = new EventSource("/changes");
  const say = (text) => { if (told.textContent !== text) told.textContent = text; };
  // Not while somebody types: what is new would replace it.
  const typing = () => document.activeElement.matches("#live input");
  const refresh = () => {
    if (document.querySelector("[data-awaited]")) { if (told.textContent === "live") location.reload(); }
    else if (!typing()) document.body.dispatchEvent(new CustomEvent("journal"));
  };
  document.addEventListener("focusout", () => setTimeout(refresh));
  source.addEventListener("open", () => {
    refresh(); // between the page and this moment, or a restart of the server, something may have changed
    say("live");
  });
  source.addEventListener("error", () => say("connection lost"));
  source.addEventListener("journal", refresh);

  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  function localTimes() {
    for (const time of document.querySelectorAll("main time[datetime]")) {
      const text = format.format(new Date(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
  }
  localTimes();
  new MutationObserver(localTimes).observe(document.getElementById("main"), { characterData: true, childList: true, subtree: true });

  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.ask;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  // Results that scripts of a system draw.
  document.addEventListener("htmx:after:swap", () => document.onresults?.());

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (button === null) return;
    const source = document.getElementById(button.dataset.copy);
    window.getSelection().selectAllChildren(source);
    await navigator.clipboard?.writeText(source.textContent); // only on this machine or with TLS
    button.textContent = navigator.clipboard ? "copied" : "selected";
  });

  const help = document.getElementById("help");
  document.getElementById("help-button").addEventListener("click", () => help.showModal());

  function move(by) {
    const links = [...document.querySelectorAll("table.rows tbody tr")].map((row) => row.querySelector("a")).filter(Boolean);
    const now = links.indexOf(document.activeElement);
    const next = links[now < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, now + by))];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog, .scroll:focus")) return;
    const search = document.querySelector("[data-search]");
    if (event.key === "/" && search) { event.preventDefault(); search.focus(); search.select(); }
    else if (event.key === "?") help.showModal();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!document.querySelector("table.rows a")) return;
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    }
  });
})();
