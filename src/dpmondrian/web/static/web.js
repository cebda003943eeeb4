// What a page does besides its forms: it saves while somebody types, redraws while a slider moves, takes dropped files and watches a run.
"use strict";
document.documentElement.classList.add("js");

const later = (wait, work) => {
  let timer;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
};
const encoded = (form) => new URLSearchParams(new FormData(form));

// A form that saves itself: what is typed survives a reload, a crash and another tab.
for (const form of document.querySelectorAll("form[data-autosave]")) {
  const told = form.querySelector(".saved");
  let typed = 0;  // "Saved" is about the last thing that was typed, not about what was sent before it
  const save = async () => {
    const sent = typed;
    const answer = await fetch(form.action, { method: "POST", body: encoded(form), headers: { "X-Draft": "1" }, keepalive: true }).catch(() => null);
    if (told && sent === typed) told.textContent = answer && answer.ok ? "Saved" : "Not saved: the server does not answer";
  };
  const soon = later(300, save);
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => {
    form.dataset.typed = "1";
    typed += 1;
    if (told) told.textContent = "Saving";
    soon();
  });
  addEventListener("pagehide", () => { if (form.dataset.typed && !form.dataset.sent) save(); });
  form.addEventListener("submit", () => { form.dataset.sent = "1"; });
}

// A second click on what spends does nothing; the server would not start it twice either.
for (const button of document.querySelectorAll("button[data-once]")) {
  button.form.addEventListener("submit", () => setTimeout(() => { button.disabled = true; }));
}

// A part of the page that follows an input: only the latest answer is shown, and one question is asked at a time.
const follower = (target, address) => {
  let wanted = null, latest = null, asking = false;
  const ask = async () => {
    if (asking) return;
    asking = true;
    while (wanted !== null) {
      const now = wanted;
      wanted = null;
      const began = performance.now();
      const answer = await fetch(now).catch(() => null);
      const text = answer && answer.ok ? await answer.text().catch(() => null) : null;
      if (text !== null) {
        target.innerHTML = text;
        target.dataset.milliseconds = Math.round(performance.now() - began);
        target.dataset.shown = now;
        if (target.querySelector("[data-again]")) setTimeout(() => { if (latest === now) { wanted = now; ask(); } }, 300);
      }
    }
    asking = false;
  };
  return (query) => { wanted = latest = address + query; ask(); };
};

const plan = document.getElementById("plan-form");
if (plan) {
  const redraw = follower(document.getElementById("outlook"), plan.dataset.outlook);
  for (const slider of plan.querySelectorAll("input[type=range]")) {
    const field = document.getElementById(slider.dataset.for), stops = slider.dataset.stops.split(" ").map(Number);
    const nearest = () => stops.reduce((best, stop, index) => (Math.abs(Math.log(stop / field.value)) < Math.abs(Math.log(stops[best] / field.value)) ? index : best), 0);
    const tell = () => slider.setAttribute("aria-valuetext", field.value);
    slider.value = nearest();
    tell();
    slider.addEventListener("input", () => { field.value = stops[slider.value]; tell(); });
    field.addEventListener("input", () => { if (Number(field.value) > 0) { slider.value = nearest(); tell(); } });
  }
  plan.addEventListener("input", () => redraw(`?${encoded(plan)}`));
  if (document.querySelector("#outlook [data-again]")) redraw(`?${encoded(plan)}`);
}

const zone = document.getElementById("drop-zone");
if (zone) {
  const told = document.getElementById("drop-state"), chooser = document.getElementById("drop-file");
  const send = async (file) => {
    if (!file) return;
    if (file.size > Number(zone.dataset.largest)) {
      told.textContent = "This file is too large to be copied. Choose it in its folder instead: then nothing is copied.";
      return;
    }
    told.textContent = `Copying ${file.name} …`;
    const reading = encoded(document.querySelector("form[data-reading]"));
    reading.set("name", file.name);
    const answer = await fetch(`/drop?${reading}`, { method: "POST", body: file }).catch(() => null);
    const said = answer ? await answer.json().catch(() => ({})) : {};
    if (said.next) location.assign(said.next);
    else told.textContent = said.sentence || "The file could not be copied.";
  };
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); send(event.dataTransfer.files[0]); });
  chooser.addEventListener("change", () => send(chooser.files[0]));
}

const bar = document.getElementById("progress");
if (bar) {
  const look = async () => {
    const answer = await fetch(bar.dataset.watch).catch(() => null);
    const said = answer && answer.ok ? await answer.json() : null;
    if (said && said.state !== "running") { location.reload(); return; }
    if (said) {
      bar.value = said.share;
      const doing = document.getElementById("doing");
      if (doing.textContent !== said.step) doing.textContent = said.step;
    }
    setTimeout(look, 400);
  };
  look();
}
const waiting = document.querySelector("[data-reload]");
if (waiting) setTimeout(() => location.reload(), Number(waiting.dataset.reload));

// What is wrong is read first; whoever follows a link to a field can type at once.
const error = document.getElementById("error");
if (error) {
  error.focus();
  // The page is the answer to a form: without this, coming back to it would ask whether to send the form again.
  history.replaceState(null, "", { choose: "/", schema: "columns" }[location.pathname.split("/").pop()] || location.href);
}
const go = () => {
  const field = location.hash && document.getElementById(location.hash.slice(1));
  if (!field) return;
  for (let part = field; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (field.name) field.focus();
};
addEventListener("hashchange", go);
go();
