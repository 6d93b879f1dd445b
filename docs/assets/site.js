// The buttons on examples are no landmarks: screen readers would list each as a navigation.
const quiet = () =>
  document.querySelectorAll("nav.md-code__nav:not([role])").forEach((nav) => nav.setAttribute("role", "none"));
new MutationObserver(quiet).observe(document.body, { childList: true, subtree: true });
quiet();
