"use strict";
(() => {
  const root = document.documentElement;
  addEventListener("error", (event) => { root.dataset.error = event.message; });
  root.classList.add("js");
  const $ = (id) => document.getElementById(id);
  const groups = [...document.querySelectorAll(".g")];
  const frames = [...document.querySelectorAll(".f")];
  const search = $("search"), kind = $("kind"), only = $("only"), count = $("count");
  const texts = new Array(frames.length);
  const textOf = (place) => (texts[place] ??= frames[place].textContent.toLowerCase());
  let at = -1;

  const filter = () => {
    const word = search.value.trim().toLowerCase(), wanted = kind.value;
    let shown = 0;
    frames.forEach((frame, place) => {
      const fits = (!only.checked || frame.classList.contains("p")) &&
        (!wanted || (" " + frame.dataset.k + " ").includes(" " + wanted + " ")) &&
        (!word || textOf(place).includes(word));
      frame.hidden = !fits;
      shown += fits;
    });
    for (const group of groups) group.hidden = !group.querySelector(".f:not([hidden])");
    count.textContent = shown === frames.length ? `${shown} frames` : `${shown} of ${frames.length} frames`;
  };
  let timer = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 150); });
  kind.addEventListener("change", filter);
  only.addEventListener("change", filter);

  const go = (place) => {
    if (at >= 0) frames[at].classList.remove("at");
    at = place;
    const frame = frames[place];
    frame.classList.add("at");
    frame.scrollIntoView({ block: "nearest" });
    requestAnimationFrame(() => frame.scrollIntoView({ block: "nearest" }));
  };
  const seek = (step, wanted) => {
    for (let place = at < 0 && step < 0 ? frames.length - 1 : at + step; place >= 0 && place < frames.length; place += step) {
      if (!frames[place].hidden && (!wanted || frames[place].classList.contains("p"))) return go(place);
    }
  };
  $("next").addEventListener("click", () => seek(1, true));
  $("previous").addEventListener("click", () => seek(-1, true));

  addEventListener("hashchange", () => {
    const place = frames.findIndex((frame) => `#${frame.id}` === location.hash);
    if (place < 0) return;
    if (frames[place].hidden) {
      search.value = kind.value = "";
      only.checked = false;
      filter();
    }
    go(place);
  });

  // Blanks and line ends alone are changed: escapes, numbers and members that are given twice stay as they came.
  const indented = (text) => {
    let made = "", depth = 0, before = "";
    const line = () => { made += "\n" + "  ".repeat(Math.min(depth, 60)); };
    for (let at = 0, end = 0; at < text.length; at = end) {
      const sign = text[at];
      end = at + 1;
      if (" \t\r\n".includes(sign)) continue;
      if (sign === '"') {
        while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
        end += 1;
      }
      const opened = before === "{" || before === "[";
      if (sign === "}" || sign === "]") {
        depth -= 1;
        if (!opened) line();
      } else if (opened) line();
      made += text.slice(at, end);
      if (sign === "{" || sign === "[") depth += 1;
      else if (sign === ",") line();
      else if (sign === ":") made += " ";
      before = sign;
    }
    return made;
  };
  const laidOut = (pre) => {
    if (pre.dataset.raw !== undefined) {
      pre.textContent = pre.dataset.raw;
      delete pre.dataset.raw;
      return;
    }
    const lines = pre.textContent.split("\n");
    const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
    try {
      const text = (data.length ? data : lines).join("\n");
      JSON.parse(text);
      pre.dataset.raw = pre.textContent;
      pre.textContent = indented(text);
    } catch { /* it is no JSON: it stays as it came */ }
  };
  document.addEventListener("click", (event) => {
    const frame = event.target.closest(".f");
    if (frame) {
      if (at >= 0) frames[at].classList.remove("at");
      at = frames.indexOf(frame);
      frame.classList.add("at");
      if (event.target.tagName === "PRE" && !String(getSelection())) laidOut(event.target);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input,select,textarea")) {
      if (event.key === "Escape") { event.target.blur(); search.value = ""; filter(); }
      return;
    }
    const keys = {
      j: () => seek(1), k: () => seek(-1), n: () => seek(1, true), p: () => seek(-1, true),
      "/": () => { search.focus(); search.select(); },
      Enter: () => { const pre = at >= 0 && frames[at].querySelector("pre"); if (pre) laidOut(pre); },
    };
    if (keys[event.key] && !(event.key === "Enter" && event.target.closest("a,button,summary"))) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  const line = $("timeline");
  if (line) {
    const end = Number(line.dataset.end), timed = line.dataset.timed === "1";
    const bars = [...line.querySelectorAll("svg")], ticks = [...line.querySelectorAll(".ticks span")];
    let from = 0, width = 1000, down = null;
    const words = (share) => {
      const place = (share / 1000) * end;
      return timed ? `${place.toFixed(width < 100 ? 3 : 2)} s` : `${Math.round(place).toLocaleString("en")} B`;
    };
    const draw = () => {
      width = Math.min(Math.max(width, 0.5), 1000);
      from = Math.min(Math.max(from, 0), 1000 - width);
      for (const bar of bars) bar.setAttribute("viewBox", `${from} 0 ${width} 10`);
      ticks.forEach((tick, place) => { tick.textContent = words(from + (width * place) / (ticks.length - 1)); });
    };
    const zoom = (by) => { const middle = from + width / 2; width = Math.min(width * by, 1000); from = middle - width / 2; draw(); };
    $("nearer").addEventListener("click", () => zoom(0.5));
    $("farther").addEventListener("click", () => zoom(2));
    $("all").addEventListener("click", () => { from = 0; width = 1000; draw(); });
    const share = (event) => {
      const box = bars[0].getBoundingClientRect();
      return from + (width * (event.clientX - box.left)) / box.width;
    };
    line.addEventListener("pointerdown", (event) => { down = event.target.closest("svg") ? share(event) : null; });
    line.addEventListener("pointerup", (event) => {
      if (down === null) return;
      const up = share(event);
      if (Math.abs(up - down) > width / 50) { from = Math.min(up, down); width = Math.abs(up - down); draw(); }
      down = null;
    });
    line.addEventListener("dblclick", () => { from = 0; width = 1000; draw(); });
  }
  filter();
  root.dataset.ready = String(frames.length);
})();
