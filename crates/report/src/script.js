// Optional: the page shows every figure and number without this script. It reads the tables
// beside the figures, keeps its state in the URL's fragment, and uses no network.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const root = document.documentElement;
  const tip = document.getElementById("tip");
  const state = { theme: "", off: new Set(), linear: new Set() };

  function load() {
    const fragment = new URLSearchParams(location.hash.slice(1));
    const words = (name) => new Set((fragment.get(name) || "").split(" ").filter(Boolean));
    state.theme = fragment.get("theme") || "";
    state.off = words("off");
    state.linear = words("linear");
    show();
  }

  function save() {
    const fragment = new URLSearchParams();
    if (state.theme) fragment.set("theme", state.theme);
    if (state.off.size) fragment.set("off", [...state.off].join(" "));
    if (state.linear.size) fragment.set("linear", [...state.linear].join(" "));
    history.replaceState(null, "", "#" + fragment);
    show();
  }

  function flip(set, item) {
    if (!set.delete(item)) set.add(item);
    save();
  }

  const dark = () =>
    state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  function show() {
    if (state.theme) root.dataset.theme = state.theme;
    else delete root.dataset.theme;
    theme.textContent = dark() ? "light" : "dark";
    for (const figure of all("figure")) {
      const linear = state.linear.has(figure.id);
      for (const panel of all(".panel", figure)) {
        const plots = all(":scope > svg", panel);
        if (plots.length === 2) plots.forEach((svg, i) => svg.toggleAttribute("hidden", linear !== (i === 1)));
      }
      for (const button of all(".scale", figure)) button.textContent = linear ? "logarithmic" : "linear";
      for (const item of all("[data-s]", figure)) {
        const off = state.off.has(figure.id + "." + item.dataset.s);
        if (item.tagName === "SPAN") item.setAttribute("aria-pressed", String(!off));
        else item.classList.toggle("off", off);
      }
    }
  }

  function operable(element, action) {
    element.tabIndex = 0;
    element.setAttribute("role", "button");
    element.addEventListener("click", action);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      action();
    });
  }

  // The cross-hair: the nearest row of the plots' table, shown beside the pointer.
  function prepare(figure, rows, plots) {
    const heads = all("thead tr:last-child th", figure).map((head) => head.textContent);
    if (!rows.length) return;
    const cursors = plots.map((svg) => {
      const [, , , height] = svg.getAttribute("viewBox").split(" ").map(Number);
      const line = document.createElementNS(svg.namespaceURI, "path");
      line.setAttribute("class", "cursor off");
      line.dataset.height = height;
      svg.append(line);
      return line;
    });
    let at = -1;

    function point(index, x, y) {
      at = Math.max(0, Math.min(rows.length - 1, index));
      const row = rows[at];
      rows.forEach((other) => other.toggleAttribute("aria-selected", other === row));
      for (const line of cursors) {
        line.setAttribute("d", `M${row.dataset.x} 28V${line.dataset.height - 44}`);
        line.classList.remove("off");
      }
      tip.replaceChildren();
      const first = all("td[data-v]", row)[0];
      [...row.cells].forEach((cell, i) => {
        const value = document.createElement("b");
        value.textContent = cell.firstChild ? cell.firstChild.textContent : "";
        if (!value.textContent) return;
        const small = cell.querySelector("small");
        if (small) value.textContent += ` (${small.textContent})`;
        if (first && cell !== first && cell.dataset.v && row.querySelectorAll("td[data-v]").length > 1)
          value.textContent += ` · ${(cell.dataset.v / first.dataset.v).toPrecision(3)}×`;
        const name = document.createElement("span");
        name.textContent = heads[i];
        tip.append(name, value);
      });
      tip.hidden = false;
      const left = x + 18 + tip.offsetWidth < innerWidth ? x + 18 : x - 18 - tip.offsetWidth;
      tip.style.left = Math.max(4, left) + "px";
      tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - tip.offsetHeight - 8)) + "px";
    }

    function leave() {
      tip.hidden = true;
      rows.forEach((row) => row.removeAttribute("aria-selected"));
      cursors.forEach((line) => line.classList.add("off"));
    }

    for (const svg of plots) {
      svg.tabIndex = 0;
      // The native titles would cover the cross-hair's own text.
      all("title", svg).forEach((title) => title.remove());
      svg.addEventListener("pointermove", (event) => {
        const box = svg.getBoundingClientRect();
        const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
        const away = (row) => Math.abs(row.dataset.x - x);
        const nearest = rows.reduce((best, row, i) => (away(row) < away(rows[best]) ? i : best), 0);
        point(nearest, event.clientX, event.clientY);
      });
      svg.addEventListener("pointerleave", leave);
      svg.addEventListener("blur", leave);
      svg.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (event.key === "Escape") leave();
        if (!step) return;
        event.preventDefault();
        const box = svg.getBoundingClientRect();
        const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
        const x = box.left + (next.dataset.x / svg.viewBox.baseVal.width) * box.width;
        point(at + step, x, box.top + 30);
      });
    }
  }

  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    state.theme = dark() ? "light" : "dark";
    save();
  });
  for (const figure of all("figure")) {
    // A small multiple has rows of its own; other plots of a figure share all of them.
    const panels = all(".panel[data-p]", figure);
    for (const panel of panels)
      prepare(figure, all(`tr[data-p="${panel.dataset.p}"]`, figure), all(":scope > svg", panel));
    if (!panels.length) prepare(figure, all("tr[data-x]", figure), all(".panel > svg", figure));
    for (const key of all(".legend [data-s]", figure))
      operable(key, () => flip(state.off, figure.id + "." + key.dataset.s));
    for (const button of all(".scale", figure)) {
      button.hidden = false;
      button.addEventListener("click", () => flip(state.linear, figure.id));
    }
  }
  addEventListener("hashchange", load);
  load();
})();
