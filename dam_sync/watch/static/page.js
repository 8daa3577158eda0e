"use strict";
// Shows the events of this server. Everything that arrives is shown as text, never as markup.

const SILENCE = 25_000; // milliseconds without an event after which the connection is doubted
const STATES = {
  done: ["Complete", "good"], none: ["Never ran", "quiet"], interrupted: ["Interrupted", "warn"],
  limit: ["Stopped at a limit", "warn"], budget: ["Calls of the day used up", "warn"],
  allowance: ["Calls of the month used up", "bad"],
  busy: ["Another process runs it", "warn"], failed: ["Failed", "bad"], running: ["Interrupted", "warn"],
};
const NUMBERS = { created: "Created", updated: "Updated", unchanged: "Unchanged", removed: "Removed", skipped: "Skipped", parked: "Parked" };
const number = new Intl.NumberFormat("en");
const sections = [];
const known = new Map(); // by job: what was announced last
const listed = new WeakMap(); // by element: what it lists
let skew = 0, heard = Date.now(), closed = false, state = null, history = null;

function element(name, text, attributes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes ?? {})) made.setAttribute(key, value);
  return made;
}

function text(section, name, value) {
  const found = section.querySelector(`[data-text="${name}"]`);
  if (found.textContent !== value) found.textContent = value;
  found.hidden = !value;
}

function part(section, name, shown) {
  const found = section.querySelector(`[data-part="${name}"]`);
  found.hidden = !shown;
  return found;
}

function list(section, name, items, make) {
  const found = section.querySelector(`[data-list="${name}"]`), seen = JSON.stringify(items);
  if (listed.get(found) !== seen) {
    listed.set(found, seen);
    found.replaceChildren(...items.map(make));
  }
}

function row(cells) {
  const made = element("tr", undefined, { role: "row" });
  for (const [label, value, kind, more] of cells) {
    const cell = element("td", undefined, { role: "cell", "data-label": label });
    if (kind) cell.className = kind;
    cell.append(value instanceof Node ? value : element("span", value));
    if (more) cell.append(element("small", more));
    made.append(cell);
  }
  return made;
}

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit += 1; }
  return `${number.format(Number(count.toPrecision(3)))} ${units[unit]}`;
}

function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole >= 86400) return `${Math.floor(whole / 86400)} d ${Math.floor(whole % 86400 / 3600)} h`;
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
  return whole >= 60 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${whole} s`;
}

function time(moment) {
  const at = new Date(moment), today = new Date().toDateString() === at.toDateString();
  const day = { year: "numeric", month: "short", day: "numeric" }, clock = { hour: "2-digit", minute: "2-digit", hour12: false };
  const made = element("time", at.toLocaleString("en", today ? { ...clock, second: "2-digit" } : { ...day, ...clock }));
  made.dateTime = moment;
  made.title = moment;
  return made;
}

function until(moment) {
  const left = (new Date(moment) - Date.now() - skew) / 1000;
  return left > 0 ? `in ${duration(left)}` : "now";
}

function stateOf(job) {
  if (job.running) return ["Running", "busy"];
  if (job.result === "blocked") return ["Waits for you", "bad"];
  return STATES[job.result] ?? [job.result, "quiet"];
}

function showRun(section, run, bounds) {
  part(section, "run", run);
  if (!run) return;
  const most = run.total ?? run.at_most, bar = part(section, "progress", true);
  const of = run.total !== null ? ` of ${number.format(run.total)}` : run.at_most ? ` of at most ${number.format(run.at_most)}` : "";
  const assets = run.done === 1 && !of ? "asset" : "assets";
  text(section, "progress", run.moves || run.done ? `${number.format(run.done)}${of} ${assets}` : run.phase);
  if (run.moves && most) {
    bar.max = most;
    bar.value = Math.min(run.done, most);
  } else {
    bar.removeAttribute("value");
  }
  const limited = bounds?.length ? `; ends earlier at ${bounds.join(", ")}` : "";
  const left = run.waiting ? `${run.waiting.text[0].toUpperCase()}${run.waiting.text.slice(1)}` : run.left ? `Remaining time of this phase: ${run.left.text}` : "The remaining time of this phase is not known";
  text(section, "left", `${left}${limited}. The run began ${duration(run.seconds)} ago.`);
  const links = /^https?:\/\//.test(run.dashboard) ? [run.dashboard] : [];
  list(section, "dashboard", links, (url) => element("a", "Dashboard of the workers", { href: url, rel: "noreferrer" }));
  list(section, "phases", run.phases, (phase) => {
    const last = phase === run.phases.at(-1), made = element("li", `${phase.name} · ${duration(phase.seconds)}`);
    if (last) made.setAttribute("aria-current", "step");
    return made;
  });
  const limit = run.bytes.limit ? ` of ${bytes(run.bytes.limit)}/s` : "";
  const numbers = Object.entries(NUMBERS).map(([key, label]) => [label, number.format(run[key]), key === "parked" && run.parked ? "warn" : ""]);
  numbers.push(["Bytes", bytes(run.bytes.number), ""], ["Transfer rate", `${bytes(run.bytes.rate)}/s${limit}`, ""]);
  list(section, "numbers", numbers, ([label, value, kind]) => {
    const made = element("div", undefined, { class: kind });
    made.append(element("dt", label), element("dd", value));
    return made;
  });
}

function showSides(section, run) {
  list(section, "sides", run ? run.sides.map((side) => ({ ...side, budget: run.calls_per_day })) : [], (side) => {
    const limit = side.limit ?? side.allowed, slowed = side.limit && side.allowed < side.limit * 0.99;
    let bar = "";
    if (limit) {
      const values = { "aria-valuemin": 0, "aria-valuemax": limit, "aria-valuenow": Math.min(side.rate, limit) };
      bar = element("div", undefined, { role: "meter", class: "meter", "aria-label": `${side.role}: share of the limit`, ...values });
      bar.append(element("div"));
      bar.firstChild.style.width = `${100 * Math.min(1, side.rate / limit)}%`;
    }
    const day = side.budget && side.today !== null ? `${number.format(side.today)} of ${number.format(side.budget)} today` : "";
    return row([
      ["Service", side.kind, "", side.role],
      ["Calls", number.format(side.calls), "n", day],
      ["Per second", number.format(side.rate), "n"],
      ["Limit", limit ? number.format(limit) : "none known", "n", slowed ? `slowed down to ${number.format(Number(side.allowed.toPrecision(2)))}` : ""],
      ["Used", bar],
    ]);
  });
}

function showNext(section, job) {
  const planned = job.next_runs ?? [];
  part(section, "next", "next_runs" in job);
  text(section, "reason", planned.length ? "" : job.result === "blocked" ? "None, until somebody has done something about the problem." : "None.");
  list(section, "next", planned.map((moment, place) => [moment, until(moment), place ? "" : job.reason]), ([moment, left, reason]) => {
    const made = element("li");
    made.append(time(moment), ` · ${left}${reason ? ` · ${reason}` : ""}`);
    return made;
  });
}

function showHistory(section, found, running) {
  const parked = found?.parked ?? [], runs = found?.runs ?? [];
  part(section, "parked", parked.length);
  text(section, "noParked", parked.length ? "" : found?.problem ? `Not known now: ${found.problem}` : found ? "None." : "Reading …");
  list(section, "parked", parked, (group) => row([
    ["Cause", group.cause, "", group.meaning], ["Assets", number.format(group.count), "n"],
    ["For example", group.example], ["What to do", group.hint || "—"],
  ]));
  part(section, "runs", runs.length);
  text(section, "noRuns", runs.length ? "" : found?.problem ? "Not known now." : found ? "None." : "Reading …");
  list(section, "runs", runs.map((run, place) => ({ ...run, active: running && !place && run.result === "running" })), (run) => {
    const moved = Object.entries(run.counts).map(([kind, count]) => `${number.format(count)} ${kind}`).join(", ");
    const result = run.active ? ["running", ""] : run.result === "done" ? ["complete", "good"] : ["not complete", "warn"];
    const took = run.ended ? duration((new Date(run.ended) - new Date(run.started)) / 1000) : "—";
    return row([
      ["Run", String(run.run)], ["Began", time(run.started)], ["Took", took], ["Result", result[0], result[1], moved || run.reason],
      ["Calls", run.result === "done" ? number.format(run.calls) : "—", "n"], ["Bytes", run.result === "done" ? bytes(run.bytes) : "—", "n"],
    ]);
  });
}

function announce(job) {
  const words = job.running && job.run ? `${job.job}: ${job.run.phase}` : `${job.job}: ${stateOf(job)[0]}`;
  if (known.get(job.job) !== words) {
    if (known.has(job.job)) document.getElementById("news").textContent = words;
    known.set(job.job, words);
  }
}

function show() {
  if (!state) return;
  const main = document.getElementById("jobs");
  while (sections.length < state.jobs.length) {
    const made = document.getElementById("job").content.cloneNode(true).firstElementChild;
    const id = `job-${sections.push(made)}`;
    made.querySelector("h2").id = id;
    made.setAttribute("aria-labelledby", id);
    main.append(made);
  }
  state.jobs.forEach((job, place) => {
    const section = sections[place], [words, kind] = stateOf(job), chip = section.querySelector(".chip");
    text(section, "job", job.job);
    text(section, "state", words);
    chip.className = `chip ${kind}`;
    text(section, "sides", `${job.source} to ${job.target}`);
    const problem = job.running ? null : job.error;
    part(section, "problem", problem || job.job_file);
    text(section, "problem", [problem?.message, job.job_file && `The job file could not be read again: ${job.job_file}`].filter(Boolean).join("\n"));
    text(section, "hint", problem?.hint ?? "");
    showRun(section, job.run, job.bounds);
    showSides(section, job.run);
    showNext(section, job);
    showHistory(section, history?.jobs[place], job.running);
    announce(job);
  });
  const first = state.jobs[0], run = first.run, most = run && (run.total ?? run.at_most);
  const share = run?.moves && most ? `${Math.floor(100 * Math.min(1, run.done / most))} % ` : "";
  document.title = `${share}${state.jobs.length > 1 ? `${state.jobs.length} jobs` : `${first.job}: ${stateOf(first)[0]}`} · dam-sync`;
}

function connection(words) {
  const found = document.getElementById("connection");
  if (found.textContent !== words) {
    found.textContent = words;
    document.getElementById("news").textContent = words;
  }
}

if (location.search) window.history.replaceState(null, "", location.pathname); // the key is in a cookie now
const events = new EventSource("events");
events.addEventListener("state", (event) => {
  state = JSON.parse(event.data);
  heard = Date.now();
  skew = new Date(state.now) - heard;
  show();
  closed = state.jobs.every((job) => job.ended_run);
  if (closed) events.close();
  connection(closed ? "The run has ended" : "Live");
});
events.addEventListener("history", (event) => {
  history = JSON.parse(event.data);
  heard = Date.now();
  show();
});
events.addEventListener("error", () => {
  if (closed) return;
  const refused = events.readyState === EventSource.CLOSED;
  connection(refused ? "Connection refused: open the URL that the command printed last" : "Connection lost: what is shown may be out of date; trying again");
});
setInterval(() => {
  if (closed) return;
  if (Date.now() - heard > SILENCE) connection("Nothing was received for a while: what is shown may be out of date");
  show();
}, 1000);
