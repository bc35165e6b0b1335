"use strict";
// Before anything is drawn, so that a page does not flash: the reader's last choice, where the browser keeps one.
try {
  const kept = localStorage.getItem("tilth-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch (refused) { /* No storage: the system's choice stands, and the button still works. */ }
