// Keeps the live part of a task's page up to date. Without scripts the page is the same, as of when it was loaded.
"use strict";
const live = document.querySelector("[data-live]");
if (live) {
  let last = null;
  let wait = 1000;
  const look = async () => {
    try {
      const answer = await fetch(live.dataset.live, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(answer.status);
      const text = await answer.text();
      wait = 1000;
      if (text !== last) {
        const open = [...live.querySelectorAll("details")].map((one) => one.open);
        const scrolled = [...live.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
        live.innerHTML = text;
        live.querySelectorAll("details").forEach((one, i) => { one.open = open[i] || false; });
        live.querySelectorAll(".scroll").forEach((one, i) => { one.scrollLeft = scrolled[i] || 0; });
      }
      last = text;
      const now = live.querySelector("[aria-current=step]");
      if (now && now.textContent.trim() !== live.dataset.status) {
        const typing = document.activeElement && document.activeElement.matches("input, textarea, select");
        if (!typing) { location.reload(); return; }
      }
    } catch {
      wait = Math.min(2 * wait, 15000);
    }
    setTimeout(look, document.hidden ? 5000 : wait);
  };
  setTimeout(look, wait);
}
