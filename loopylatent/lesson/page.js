"use strict";
(() => {
  const lesson = JSON.parse(document.getElementById("lesson").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const by = (id) => document.getElementById(id);
  const nodes = new vis.DataSet();
  const edges = new vis.DataSet();
  const now = { index: 0, overview: false, guess: false, revealed: false, timer: 0 };
  let network = null;

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /* The edges of each step: those of the previous step with its changes. */
  const states = [];
  function stateAt(index) {
    for (let k = states.length; k <= index; k += 1) {
      const state = new Map(k ? states[k - 1] : []);
      for (const edge of lesson.steps[k].drop) state.delete(edge);
      for (const [edge, mark] of lesson.steps[k].draw) state.set(edge, mark);
      states.push(state);
    }
    return states[index];
  }

  const levels = {
    false: lesson.steps.map((_, k) => k),
    true: lesson.steps.map((_, k) => k).filter((k) => lesson.steps[k].overview),
  };
  const level = () => levels[now.overview];
  const position = () => {
    const found = level().findIndex((k) => k >= now.index);
    return found < 0 ? level().length - 1 : found;
  };
  const isHidden = () => now.guess && !now.revealed && lesson.steps[now.index].phase === "join";

  function group(step, id) {
    const kind = lesson.nodes[id][1] ? "hidden" : "observed";
    if (step.sketched && step.sketched.includes(id)) return `${kind}-sketched`;
    if (step.centre === id) return `${kind}-centre`;
    return !step.focus || step.focus.includes(id) ? kind : `${kind}-faded`;
  }

  function nodeRow(step, id) {
    const [label, hidden, x, y, side] = lesson.nodes[id];
    const shown = label.length > 24 ? `${label.slice(0, 23)}…` : label;
    const shape = hidden ? "diamond" : "dot";
    const isAbove = side < lesson.looks.light.options.nodes.font.vadjust;
    const vadjust = isAbove && step.centre === id ? side - lesson.centre_rise : side;
    return { id, label: shown, title: label, shape, x, y, font: { vadjust }, group: group(step, id) };
  }

  function edgeRow(step, id, mark) {
    const [from, to, width, opacity, title] = lesson.edges[id];
    const row = { id, from, to, title, arrows: "", dashes: false };
    const look = lesson.marks[mark];
    if (look) {
      const [color, dashed, wider] = look;
      row.width = Math.max(width, lesson.marked_width) + wider;
      row.color = { color, highlight: color, hover: color };
      if (dashed) row.dashes = [6, 5];
    } else {
      const inside = !step.focus || (step.focus.includes(from) && step.focus.includes(to));
      row.width = width;
      row.color = { opacity: inside ? opacity : opacity * lesson.faded };
    }
    return row;
  }

  function update(set, rows) {
    const ids = new Set(rows.map((row) => row.id));
    set.remove(set.getIds().filter((id) => !ids.has(id)));
    set.update(rows);
  }

  function drawGraph(index) {
    const step = lesson.steps[index];
    const ids = [...Array(lesson.n_observed).keys(), ...step.hidden];
    update(nodes, ids.map((id) => nodeRow(step, id)));
    update(edges, [...stateAt(index)].map(([id, mark]) => edgeRow(step, id, mark)));
    by("stage").dataset.step = step.at;
  }

  function drawShade(pen) {
    const shade = lesson.steps[shownIndex()].shade;
    if (!shade) return;
    const places = network.getPositions();
    pen.save();
    pen.globalAlpha = 0.16;
    pen.strokeStyle = lesson.looks[dark.matches ? "dark" : "light"].shade;
    pen.lineWidth = 58;
    pen.lineCap = pen.lineJoin = "round";
    pen.beginPath();
    for (const [a, b] of [...shade[1], ...shade[0].map((id) => [id, id])]) {
      if (!places[a] || !places[b]) continue;
      pen.moveTo(places[a].x, places[a].y);
      pen.lineTo(places[b].x + 0.01, places[b].y);
    }
    pen.stroke();
    pen.restore();
  }

  const shownIndex = () => (isHidden() ? now.index - 1 : now.index);

  function partNode(part) {
    if (typeof part === "string") return document.createTextNode(part);
    const [kind, text, key] = part;
    if (kind !== "term") return element("b", kind, text);
    const term = element("span", "term", text);
    term.tabIndex = 0;
    term.dataset.meaning = lesson.glossary[key];
    return term;
  }

  function showCaption(step) {
    const parts = isHidden()
      ? [`${lesson.question} Guess, then continue.`]
      : now.overview && Array.isArray(step.overview) ? step.overview : step.caption;
    by("caption").replaceChildren(...parts.map(partNode));
    showCode(step.code);
    for (const [k, line] of [...by("code").children].entries()) {
      if (k + 1 === step.line) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    }
    by("meaning").textContent = lesson.codes[step.code][step.line - 1][2];
  }

  function showCode(name) {
    if (by("code").dataset.name === name) return;
    by("code").dataset.name = name;
    by("code").replaceChildren(...lesson.codes[name].map(([indent, text, meaning]) => {
      const line = element("li", `indent${indent}`, text);
      line.title = meaning;
      return line;
    }));
  }

  function drawLegend(step) {
    const items = lesson.legends[step.legend][dark.matches ? "dark" : "light"].map((item) => {
      const row = element("li");
      const mark = element("span", `mark ${item.shape}`);
      mark.style.setProperty("--fill", item.fill);
      mark.style.setProperty("--border", item.border);
      row.append(mark, element("span", "", item.text));
      return row;
    });
    by("legend").replaceChildren(...items);
  }

  function table(title, head, rows, mark) {
    const made = element("table");
    made.append(element("caption", "", title));
    if (head.length) {
      const top = element("tr");
      top.append(...head.map((text) => element("th", "", text)));
      made.append(top);
    }
    for (const cells of rows) {
      const row = element("tr", mark && mark(cells) ? "declared" : "");
      row.append(
        ...cells.map((cell) => {
          if (typeof cell === "number") return element("td", "number", String(cell));
          return cell?.decimal ? element("td", "number", cell.decimal) : element("td", "", cell ?? "∞");
        }),
      );
      made.append(row);
    }
    return made;
  }

  /* A number with one decimal, for a cell. */
  const fixed = (x) => ({ decimal: x.toFixed(1).replace("-", "−") });

  function drawMatrix(box) {
    const { names, values, shades } = lesson.matrix;
    const cell = Math.max(3, Math.floor(560 / names.length));
    const canvas = element("canvas");
    canvas.width = canvas.height = cell * names.length;
    const pen = canvas.getContext("2d");
    const known = values.flat().filter((x) => x !== null && x > 0);
    const [low, high] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
    const scale = shades[dark.matches ? "dark" : "light"].map((c) =>
      [1, 3, 5].map((k) => parseInt(c.slice(k, k + 2), 16)));
    values.forEach((row, i) => row.forEach((x, j) => {
      if (x === null || i === j) return;
      const at = ((x - low) / (high - low || 1)) * (scale.length - 1);
      const k = Math.min(Math.floor(at), scale.length - 2);
      const mixed = scale[k].map((c, n) => Math.round(c + (scale[k + 1][n] - c) * (at - k)));
      pen.fillStyle = `rgb(${mixed.join(",")})`;
      pen.fillRect(j * cell, i * cell, cell, cell);
    }));
    const note = element("p", "", "Point at a cell to see its two columns.");
    canvas.addEventListener("mousemove", (event) => {
      const size = canvas.getBoundingClientRect().width / names.length;
      const [i, j] = [Math.floor(event.offsetY / size), Math.floor(event.offsetX / size)];
      const x = values[i]?.[j];
      if (x !== undefined) note.textContent = `${names[i]} – ${names[j]}: ${x ?? "∞"}`;
    });
    box.replaceChildren(canvas, note);
  }

  function drawPair(box) {
    const { names, table: counts, quantities, points } = lesson.pair;
    const parts = [];
    if (counts) {
      const rows = counts.counts.map((row, k) => [counts.rows[k], ...row]);
      parts.push(table(`${names[0]} (down) and ${names[1]} (across)`, ["", ...counts.columns], rows));
    } else if (points) parts.push(drawPoints(points));
    if (quantities.length) parts.push(table("Computation of the distance", [], quantities));
    if (!parts.length) parts.push(element("p", "", "The distances are precomputed; there are no rows."));
    box.replaceChildren(...parts);
  }

  function drawPoints(points) {
    const canvas = element("canvas");
    canvas.width = canvas.height = 340;
    const pen = canvas.getContext("2d");
    const range = [0, 1].map((axis) => {
      const all = points.map((point) => point[axis]);
      return [Math.min(...all), Math.max(...all)];
    });
    pen.fillStyle = lesson.looks[dark.matches ? "dark" : "light"].shade;
    pen.globalAlpha = 0.5;
    for (const point of points) {
      const [x, y] = [0, 1].map((axis) => {
        const [low, high] = range[axis];
        return 8 + (324 * (point[axis] - low)) / (high - low || 1);
      });
      pen.fillRect(x, 340 - y, 3, 3);
    }
    return canvas;
  }

  function drawNumbers(step) {
    const inPlace = step.chapter === 2 && !(step.phase === "matrix" && !lesson.matrix);
    by("stage").hidden = inPlace;
    by("numbers").hidden = !inPlace;
    if (inPlace) (step.phase === "matrix" ? drawMatrix : drawPair)(by("numbers"));
    const details = [];
    if (step.visit) {
      const { names, distances, quartets } = lesson.visits[step.visit - 1];
      const rows = distances.map((row, k) => [names[k], ...row]);
      details.push(table("Distances in A", ["", ...names], rows));
      if (quartets && quartets.length && ["quartets", "join", "rest"].includes(step.phase)) {
        const shown = quartets.map((row) => [row.slice(0, 4).map((k) => names[k]).join(" "), ...row.slice(4)]);
        const head = ["a b c d", "ab|cd", "ac|bd", "ad|bc", "lead", "verdict"];
        details.push(table("Quartets of A", head, shown, (row) => row[5] !== "⊥"));
      }
    }
    if (step.code === "refinement") {
      const { pairs, moves } = lesson.refinement;
      const upto = step.phase === "move" ? Number(step.at.split("-")[1]) : moves.length;
      const shown = ["refine", "pairs"].includes(step.phase) ? [] : moves.slice(0, upto);
      if (step.phase === "pairs") {
        const rows = pairs.map(([pair, gain]) => [pair, fixed(gain)]);
        details.push(table("Pairs", ["", "estimated gain"], rows));
      }
      if (shown.length) {
        const rows = shown.map(([k, move, gain, score]) => [k, move, fixed(gain), fixed(score)]);
        details.push(table("Moves", ["", "move", "gain", "score"], rows));
      }
    }
    by("details").replaceChildren(...details);
  }

  function show() {
    const step = lesson.steps[now.index];
    const at = position();
    drawGraph(shownIndex());
    showCaption(step);
    drawLegend(lesson.steps[shownIndex()]);
    drawNumbers(lesson.steps[shownIndex()]);
    by("scrubber").max = String(level().length);
    by("scrubber").value = String(at + 1);
    by("count").textContent = `step ${at + 1} of ${level().length}`;
    for (const [k, choice] of [...by("chapters").children].entries()) {
      if (k + 1 === step.chapter) choice.setAttribute("aria-current", "true");
      else choice.removeAttribute("aria-current");
    }
    by("first").disabled = by("back").disabled = at === 0;
    by("next").disabled = by("last").disabled = at === level().length - 1 && !isHidden();
    history.replaceState(null, "", `#${step.at}`);
  }

  function go(index) {
    now.index = index;
    now.revealed = false;
    show();
  }

  function by_steps(count) {
    if (count > 0 && isHidden()) {
      now.revealed = true;
      show();
      return;
    }
    go(level()[Math.min(Math.max(position() + count, 0), level().length - 1)]);
  }

  function stop() {
    clearInterval(now.timer);
    now.timer = 0;
    by("play").textContent = "Play";
  }

  function play() {
    if (now.timer) {
      stop();
      return;
    }
    if (by("last").disabled) go(0);
    by("play").textContent = "Pause";
    now.timer = setInterval(() => {
      by_steps(1);
      if (by("last").disabled) stop();
    }, Number(by("speed").value));
  }

  function drawNetwork() {
    if (network) network.destroy();
    const options = { ...lesson.looks[dark.matches ? "dark" : "light"].options };
    options.interaction = { ...options.interaction, keyboard: { enabled: false } };
    network = new vis.Network(by("stage"), { nodes, edges }, options);
    network.on("beforeDrawing", drawShade);
    network.once("afterDrawing", () => (by("stage").dataset.drawn = "true"));
    network.fit({ animation: false });
    window.loopylatent = { network, nodes, edges, lesson };
  }

  function build() {
    lesson.chapters.forEach((name, k) => {
      const choice = element("button", "", `${k + 1} · ${name}`);
      choice.type = "button";
      choice.addEventListener("click", () =>
        go(level().find((index) => lesson.steps[index].chapter === k + 1)));
      by("chapters").append(choice);
    });
    by("first").addEventListener("click", () => go(0));
    by("back").addEventListener("click", () => by_steps(-1));
    by("next").addEventListener("click", () => by_steps(1));
    by("last").addEventListener("click", () => go(level()[level().length - 1]));
    by("play").addEventListener("click", play);
    by("speed").addEventListener("change", () => now.timer && (stop(), play()));
    by("scrubber").addEventListener("input", (event) => go(level()[Number(event.target.value) - 1]));
    by("overview").addEventListener("change", (event) => {
      now.overview = event.target.checked;
      go(level()[position()]);
    });
    by("guess").addEventListener("change", (event) => {
      now.guess = event.target.checked;
      show();
    });
    const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", p: "play" };
    document.addEventListener("keydown", (event) => {
      const key = keys[event.key];
      if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
      if (["SELECT", "INPUT"].includes(event.target.tagName) && event.key !== "p") return;
      event.preventDefault();
      if (!by(key).disabled) by(key).click();
    });
    dark.addEventListener("change", () => {
      drawNetwork();
      show();
    });
  }

  build();
  const requested = lesson.steps.findIndex((step) => `#${step.at}` === window.location.hash);
  drawNetwork();
  go(Math.max(requested, 0));
  network.fit({ animation: false });
})();
