"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, inside = document) => Array.from(inside.querySelectorAll(selector));
  const make = (tag, settings = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), settings);
    node.append(...children);
    return node;
  };

  // ------------------------------------------------------------------------------------------------------- light, dark
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const toggle = document.getElementById("theme");
  const named = () => { toggle.textContent = isDark() ? "Light page" : "Dark page"; };
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("tilth-theme", root.dataset.theme); } catch (refused) { /* Works until the page is closed. */ }
    named();
  });
  dark.addEventListener("change", named);
  named();

  // ---------------------------------------------------------------------------------------------------------- contents
  const contents = document.getElementById("contents");
  const wide = matchMedia("(min-width: 64rem)");
  const unfold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();
  const links = new Map(all("a", contents).map((link) => [link.hash.slice(1), link]));
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const inside = target.querySelector(":scope > details.fold");
    for (const fold of [inside, target.closest("details.fold")]) if (fold) fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  contents.addEventListener("click", (event) => {
    if (!event.target.closest("a")) return;
    if (!wide.matches) contents.open = false;
    setTimeout(reveal);
  });
  reveal();
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const [name, link] of links) {
        if (name === entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of all("main > section")) seen.observe(section);

  // ------------------------------------------------------------------------------------------------------------ tables
  const value = (row, place) => row.cells[place].textContent;
  const sorted = (rows, place, isNumber, sign) => {
    const order = isNumber
      ? (a, b) => Number(a.replace("inf", "Infinity")) - Number(b.replace("inf", "Infinity"))
      : (a, b) => a.localeCompare(b, undefined, { numeric: true });
    // Missing cells stay at the end whichever way the column is sorted.
    return rows.slice().sort((a, b) => {
      const [x, y] = [value(a, place), value(b, place)];
      if (x === "" || y === "") return (x === "") - (y === "");
      return sign * order(x, y);
    });
  };
  for (const box of all(".table")) {
    const body = box.querySelector("tbody");
    const rows = Array.from(body.rows);
    const heads = all("thead th", box);
    if (rows.length < 2) continue;
    heads.forEach((head, place) => {
      const button = make("button", { type: "button", className: "sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        body.append(...sorted(rows, place, head.classList.contains("number"), sign));
      });
    });
    if (!("filter" in box.dataset)) continue;
    const count = make("span", { role: "status" });
    const field = make("input", { type: "search", placeholder: "words in any column" });
    const told = () => {
      const wanted = field.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      count.textContent = wanted ? `${shown} of ${rows.length} rows` : `${rows.length} rows`;
    };
    field.addEventListener("input", told);
    box.before(make("p", { className: "filter" }, make("label", {}, "Filter ", field), " ", count));
    told();
  }

  // ------------------------------------------------------------------------------------------------------- copy, terms
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (refused) {
      const area = make("textarea", { value: text, className: "unseen" });
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  for (const box of all(".code")) {
    const button = make("button", { type: "button", className: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      button.textContent = (await copied(box.querySelector("code").textContent)) ? "Copied" : "Not copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    box.append(button);
  }
  const tip = make("div", { className: "tip", hidden: true });
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  for (const term of all(".term")) {
    const meaning = document.getElementById(term.hash.slice(1)).textContent;
    const explain = () => {
      tip.textContent = meaning;
      tip.hidden = false;
      const at = term.getBoundingClientRect();
      const left = Math.min(at.left, root.clientWidth - tip.offsetWidth - 8);
      const below = at.bottom + 6 + tip.offsetHeight < innerHeight;
      tip.style.left = `${Math.max(8, left) + scrollX}px`;
      tip.style.top = `${(below ? at.bottom + 6 : at.top - 6 - tip.offsetHeight) + scrollY}px`;
    };
    for (const kind of ["mouseenter", "focus"]) term.addEventListener(kind, explain);
    for (const kind of ["mouseleave", "blur"]) term.addEventListener(kind, hide);
  }
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // --------------------------------------------------------------------------------------------------------- threshold
  const digits = (x) => (Number.isFinite(x) ? Number(x.toPrecision(4)).toLocaleString("en") : "–");
  const share = (part, whole) => (whole ? `${(100 * part / whole).toFixed(1)}%` : "–");
  const drawn = (tag, settings) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, text] of Object.entries(settings)) node.setAttribute(key, text);
    return node;
  };
  const thresholdControl = (box) => {
    const data = JSON.parse(box.querySelector(".control-data").textContent);
    const inputs = Object.fromEntries(all("[data-in]", box).map((one) => [one.dataset.in, one]));
    const outputs = Object.fromEntries(all("[data-out]", box).map((one) => [one.dataset.out, one]));
    const curve = box.querySelector(".curve");
    const [width, height, edge] = [320, 90, 6];
    const line = drawn("polyline", { class: "line" });
    const mark = drawn("circle", { class: "mark", r: 4.5 });
    const best = drawn("circle", { class: "best", r: 4.5 });
    const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}` });
    picture.append(line, best, mark);
    curve.append(picture, make("p", {}, "Cost over threshold; the ring is the cheapest."));
    const price = (name) => {
      const typed = inputs[name].valueAsNumber;
      inputs[name].setAttribute("aria-invalid", String(!(typed >= 0)));
      return typed >= 0 ? typed : data.cost[name];
    };
    const show = () => {
      const place = Number(inputs.place.value);
      const [alarm, miss] = [price("fp"), price("fn")];
      const costs = data.thresholds.map((_, i) => 1000 * (alarm * data.fp[i] + miss * data.fn[i]) / data.n);
      const cheapest = costs.reduce((low, cost, i) => (cost < costs[low] - 1e-9 ? i : low), place);
      box.dataset.cheapest = cheapest;
      const at = digits(data.thresholds[place]);
      inputs.place.setAttribute("aria-valuetext", `threshold ${at}`);
      outputs.threshold.textContent = at;
      for (const name of ["tp", "fp", "fn", "tn"]) outputs[name].textContent = digits(data[name][place]);
      outputs.precision.textContent = share(data.tp[place], data.tp[place] + data.fp[place]);
      outputs.recall.textContent = share(data.tp[place], data.tp[place] + data.fn[place]);
      outputs.cost.textContent = digits(costs[place]);
      outputs.cheapest.textContent = `${digits(data.thresholds[cheapest])} (${digits(costs[cheapest])})`;
      const saved = costs[data.place] - costs[place];
      outputs.said.textContent = Math.abs(saved) < 1e-9
        ? "The same cost as the chosen threshold."
        : `${digits(Math.abs(saved))} per 1,000 rows ${saved > 0 ? "less" : "more"} than the chosen threshold, on these rows.`;
      const top = Math.max(...costs) || 1;
      const last = Math.max(1, costs.length - 1);
      const x = (i) => edge + (width - 2 * edge) * i / last;
      const y = (i) => height - edge - (height - 2 * edge) * costs[i] / top;
      line.setAttribute("points", costs.map((_, i) => `${x(i).toFixed(1)},${y(i).toFixed(1)}`).join(" "));
      for (const [dot, i] of [[mark, place], [best, cheapest]]) {
        dot.setAttribute("cx", x(i));
        dot.setAttribute("cy", y(i));
      }
    };
    const go = (place) => {
      inputs.place.value = place;
      show();
    };
    box.querySelector("[data-go=cheapest]").addEventListener("click", () => go(box.dataset.cheapest));
    box.querySelector("[data-go=chosen]").addEventListener("click", () => go(data.place));
    for (const one of Object.values(inputs)) one.addEventListener("input", show);
    box.querySelector(".plain").classList.add("replaced");
    box.querySelector(".moving").hidden = false;
    show();
  };

  // --------------------------------------------------------------------------------------------------------- row cards
  const rowsControl = (box) => {
    const cards = all(".card", box);
    if (cards.length < 2) return;
    const stepper = box.querySelector(".stepper");
    const status = stepper.querySelector("[role=status]");
    let place = 0;
    const show = (next) => {
      place = (next + cards.length) % cards.length;
      cards.forEach((card, i) => card.classList.toggle("aside", i !== place));
      status.textContent = `${place + 1} of ${cards.length}`;
    };
    for (const button of all("[data-step]", stepper)) {
      button.addEventListener("click", () => show(place + Number(button.dataset.step)));
    }
    box.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) show(place + step);
    });
    stepper.hidden = false;
    show(0);
  };
  const kinds = { threshold: thresholdControl, rows: rowsControl };
  for (const box of all(".control")) kinds[box.dataset.kind]?.(box);

  // ------------------------------------------------------------------------------------------------------------- print
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
})();
