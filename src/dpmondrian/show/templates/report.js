"use strict";
(() => {
  const root = document.documentElement;
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const data = JSON.parse(find("#data").textContent);
  const STEPS = 10000;
  root.classList.add("js");

  // Light and dark
  const theme = find("#theme");
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches);
  const nameTheme = () => {
    theme.textContent = isDark() ? data.words.light : data.words.dark;
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  systemIsDark.addEventListener("change", nameTheme);
  nameTheme();

  // The map of cuts: marks are there from the beginning and are moved when other columns are chosen
  const map = find("#map-plot");
  const margin = Object.fromEntries(["left", "right", "top", "bottom", "pad"].map((side) => [side, Number(map.dataset[side])]));
  const xChoice = find("#map-x");
  const yChoice = find("#map-y");
  const boxes = all(".box", map);
  const dots = all(".dot", map);
  const size = { width: map.viewBox.baseVal.width, height: map.viewBox.baseVal.height };
  const full = { ...size };
  const xOf = (step) => margin.left + margin.pad + (step / STEPS) * (size.width - margin.left - margin.right - 2 * margin.pad);
  const base = () => size.height - margin.bottom;
  const yOf = (step) => base() - margin.pad - (step / STEPS) * (base() - margin.top - 2 * margin.pad);
  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const tick = (step, text, across) => {
    const group = svg("g", { transform: across ? `translate(${xOf(step)} ${base()})` : `translate(${margin.left} ${yOf(step)})` });
    group.append(svg("path", { d: across ? "M0 0V5" : "M0 0H-5" }), svg("text", across ? { y: 18 } : { x: -8, y: 4 }, text));
    return group;
  };
  const drawAxis = (id, option, across) => {
    let ticks = data.ticks[option];
    if (across && size.width < 560) ticks = ticks.filter((_, i) => i % 2 === 0);
    find(id).replaceChildren(...ticks.map(([step, text]) => tick(step, text, across)));
  };
  const placeBox = (box, i, x, y) => {
    const [x0, x1] = data.boxes[i][x] ?? [0, STEPS];
    const [y0, y1] = data.boxes[i][y] ?? [0, STEPS];
    const place = { x: xOf(x0), y: yOf(y1), width: xOf(x1) - xOf(x0), height: yOf(y0) - yOf(y1) };
    for (const [key, value] of Object.entries(place)) box.setAttribute(key, value.toFixed(1));
  };
  const placeDot = (dot, x, y) => {
    const smaller = size.width < full.width ? ` scale(${Math.max(0.6, size.width / full.width).toFixed(2)})` : "";
    const centre = data.centres[dot.dataset.cluster];
    const [cx, x0, x1] = centre[x].map(xOf);
    const [cy, y0, y1] = centre[y].map(yOf);
    find(".place", dot).setAttribute("transform", `translate(${cx.toFixed(1)} ${cy.toFixed(1)})${smaller}`);
    find(".whisker", dot).setAttribute("d", `M${x0.toFixed(1)} ${cy.toFixed(1)}H${x1.toFixed(1)}M${cx.toFixed(1)} ${y0.toFixed(1)}V${y1.toFixed(1)}`);
  };
  // Boxes that lie upon each other are fainter, so that their marks stay readable
  const boxOpacity = (x, y) => {
    const part = (box, option) => (box[option] ? (box[option][1] - box[option][0]) / STEPS : 1);
    const layers = data.boxes.reduce((sum, box) => sum + part(box, x) * part(box, y), 0);
    return Math.min(0.18, Math.max(0.015, 0.18 / Math.max(1, layers) ** 0.85));
  };
  const drawMap = () => {
    const [x, y] = [Number(xChoice.value), Number(yChoice.value)];
    margin.left = Math.max(60, 36 + 7.2 * Math.max(0, ...data.ticks[y].map(([, text]) => text.length)));
    map.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    boxes.forEach((box, i) => placeBox(box, i, x, y));
    find(".boxes", map).setAttribute("fill-opacity", boxOpacity(x, y).toFixed(3));
    dots.forEach((dot) => placeDot(dot, x, y));
    drawAxis("#x-axis", x, true);
    drawAxis("#y-axis", y, false);
    find("#edges").setAttribute("d", `M${margin.left} ${margin.top}V${base()}H${size.width - margin.right}`);
    find("#x-name").textContent = xChoice.selectedOptions[0].text;
    find("#y-name").textContent = yChoice.selectedOptions[0].text;
    find("#x-name").setAttribute("x", xOf(STEPS / 2));
    find("#x-name").setAttribute("y", size.height - 8);
    find("#y-name").setAttribute("transform", `translate(13 ${yOf(STEPS / 2)}) rotate(-90)`);
  };
  let before = [xChoice.value, yChoice.value];
  const choose = (changed, other, old) => {
    if (changed.value === other.value) other.value = old; // the same column twice: exchange them
    before = [xChoice.value, yChoice.value];
    hideTip();
    drawMap();
  };
  xChoice.addEventListener("change", () => choose(xChoice, yChoice, before[0]));
  yChoice.addEventListener("change", () => choose(yChoice, xChoice, before[1]));
  const fit = () => {
    const width = Math.round(Math.min(full.width, Math.max(300, map.parentElement.clientWidth)));
    const height = Math.round(Math.min(full.height, Math.max(340, width * 0.64)));
    if (width === size.width && height === size.height) return;
    Object.assign(size, { width, height });
    drawMap();
  };
  new ResizeObserver(fit).observe(map.parentElement);

  // Highlights and tooltips
  const tip = find("#tip");
  let held = null; // the mark with the keyboard's focus
  const clear = () => {
    map.classList.remove("has-active");
    for (const mark of all(".active")) mark.classList.remove("active");
  };
  const activate = (cluster) => {
    clear();
    map.classList.add("has-active");
    for (const mark of all(`[data-cluster="${cluster}"]`, map)) mark.classList.add("active");
  };
  const line = (name, text, className) => {
    const element = document.createElement(name);
    element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const tipLines = (mark) => {
    const cluster = mark.dataset.cluster;
    const title = data.words.cluster.replace("{cluster}", cluster);
    const summary = dots[cluster].getAttribute("aria-label").slice(title.length + 2); // after the title and ": "
    const lines = [line("strong", title), line("span", summary)];
    for (const choice of [xChoice, yChoice]) {
      if (Number(choice.value) === choice.options.length - 1) continue; // the size stands above
      lines.push(line("span", `${choice.selectedOptions[0].text}: ${data.texts[cluster][choice.value]}`, "quiet"));
    }
    const rules = all(`#rule-${cluster} .part`);
    for (const rule of rules.slice(0, 3)) lines.push(line("span", rule.textContent, "tip-rule"));
    if (rules.length > 3) lines.push(line("span", data.words.more_rules.replace("{n}", rules.length - 3), "quiet"));
    return lines.map((element) => {
      element.classList.add("tip-line");
      const row = document.createElement("div");
      row.append(element);
      return row;
    });
  };
  const showTip = (mark, x, y) => {
    tip.replaceChildren(...tipLines(mark));
    tip.hidden = false;
    tip.style.left = "0px"; // room for its full width
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(x + 16, root.clientWidth - width - 8));
    const top = y + 18 + height > root.clientHeight ? Math.max(8, y - height - 14) : y + 18;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${top + scrollY}px`;
    activate(mark.dataset.cluster);
  };
  const showTipAt = (mark) => {
    const around = find(".mark", mark).getBoundingClientRect();
    showTip(mark, Math.min(around.right, root.clientWidth - 40), Math.min(around.bottom, root.clientHeight - 60));
  };
  function hideTip() {
    tip.hidden = true;
    clear();
  }
  const rest = () => (held ? showTipAt(held) : hideTip());
  addEventListener("resize", hideTip);
  map.addEventListener("pointermove", (event) => {
    const mark = event.target.closest("[data-cluster]");
    if (mark) showTip(mark, event.clientX, event.clientY);
    else rest();
  });
  map.addEventListener("pointerleave", rest);

  // One stop of the Tab key; arrow keys go from mark to mark
  const stopAt = (mark) => {
    for (const other of dots) other.setAttribute("tabindex", other === mark ? "0" : "-1");
  };
  const keys = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  for (const mark of dots) {
    mark.addEventListener("focus", () => {
      stopAt(mark);
      held = mark;
      showTipAt(mark);
    });
    mark.addEventListener("blur", () => {
      held = null;
      hideTip();
    });
    mark.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hideTip();
      if (!(event.key in keys)) return;
      event.preventDefault();
      dots[Math.min(dots.length - 1, Math.max(0, dots.indexOf(mark) + keys[event.key]))].focus();
    });
  }
  stopAt(dots[0]);

  // Segments: the slider goes through the tables of all k
  const slider = find("#segments-k");
  const showSegments = () => {
    find("#segments-number").textContent = slider.value;
    for (const part of all("#segments [data-k]")) part.classList.toggle("chosen", part.dataset.k === slider.value);
  };
  slider?.addEventListener("input", showSegments);
  for (const point of all("#curve .point")) {
    point.addEventListener("click", () => {
      slider.value = point.dataset.k;
      showSegments();
    });
  }

  // The tree
  const openTree = (open) => {
    for (const part of all(".tree details")) part.open = open;
  };
  find("#tree-open")?.addEventListener("click", () => openTree(true));
  find("#tree-close")?.addEventListener("click", () => openTree(false));
})();
