// The form works without this file; with it the answer follows every change.
const form = document.getElementById("row");
const place = document.getElementById("answer");

if (form && place) {
  let latest = 0;
  let timer = 0;

  const ask = async () => {
    const mine = ++latest;
    try {
      const response = await fetch("/?part=answer", { method: "POST", body: new URLSearchParams(new FormData(form)) });
      const told = await response.text();
      // Only a page part of our own server is put in; it is escaped there. Anything else is shown as text.
      if (mine !== latest) return;
      if ((response.headers.get("content-type") || "").startsWith("text/html")) place.innerHTML = told;
      else place.textContent = JSON.parse(told).error.message;
    } catch {
      if (mine === latest) place.textContent = "The server does not answer.";
    }
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 250);
  };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
}
