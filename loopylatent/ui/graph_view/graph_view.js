/* Draws a graph with vis-network and keeps it while its data change.
 *
 * Streamlit calls the default export again with the same parent whenever the data change. The
 * network is stored on that parent: only differences of nodes and edges are applied, existing nodes
 * move to their new positions, and zoom and selection are kept.
 */
const GLIDE_MS = 350;
const ECHO_MS = 3000; // longest delay of a reply to an earlier key
const LABEL = { smallest: 9.6, normal: 13, largest: 14, few: 20 }; // sizes in pixels: minimum on screen, in the layout, maximum
const CROWD = { onScreen: 11.5, smallest: 4 }; // the same for a simplified graph
const TOOLS = 34; // width of the buttons at the right, in pixels
const CLOSEST = 1.06; // largest scale of a whole graph
const NEAR = 0.9; // smallest scale for a single node
const FEW = 60; // number of nodes up to which labels may be larger
const ROOM = 48; // change of the frame, in pixels, after which the graph is fitted again: more than a row of the legend
const ICONS = {
  fit: "M12 8v8M8 12h8M12 3v2M12 19v2M3 12h2M19 12h2M12 12m-7 0a7 7 0 1 0 14 0a7 7 0 1 0-14 0",
  closer: "M12 5v14M5 12h14",
  farther: "M5 12h14",
  full: "M8 3H3v5M16 3h5v5M21 16v5h-5M3 16v5h5",
  picture: "M12 4v11M7 11l5 5 5-5M4 20h16",
};

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function isDark(root) {
  const probe = element("span");
  probe.style.color = "var(--st-background-color, #ffffff)";
  root.appendChild(probe);
  const [r, g, b] = (getComputedStyle(probe).color.match(/[\d.]+/g) || [255, 255, 255]).map(Number);
  probe.remove();
  return 0.299 * r + 0.587 * g + 0.114 * b < 128;
}

function button(view, name, label, action) {
  const made = element("button", "tool");
  made.type = "button";
  made.title = label;
  made.setAttribute("aria-label", label);
  made.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;
  made.addEventListener("click", () => action(view));
  return made;
}

/* No animation if the system asks for reduced motion. */
function isStill() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function lasting(duration) {
  return isStill() ? false : { duration };
}

function zoomBy(view, factor) {
  view.isOwn = true;
  view.network.moveTo({ scale: view.network.getScale() * factor, animation: lasting(150) });
  if (isStill()) sizeLabels(view); // otherwise at the end of the animation
}

function savePicture(view) {
  const canvas = view.stage.querySelector("canvas");
  const copy = element("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  const pen = copy.getContext("2d");
  pen.fillStyle = view.look.background;
  pen.fillRect(0, 0, copy.width, copy.height);
  pen.drawImage(canvas, 0, 0);
  const link = element("a");
  link.href = copy.toDataURL("image/png");
  link.download = `${view.data.file_name || "graph"}.png`;
  link.click();
}

function toggleFullScreen(view) {
  if (document.fullscreenElement) document.exitFullscreen();
  else view.frame.requestFullscreen();
}

/* The box around the whole graph with its labels, in pixels of the layout. */
function extent(view) {
  const boxes = labelBoxes(view, view.data.nodes);
  return {
    left: Math.min(...boxes.map((box) => box.x - box.half.x)),
    right: Math.max(...boxes.map((box) => box.x + box.half.x)),
    top: Math.min(...boxes.map((box) => Math.min(box.y - box.half.y, box.nodeY - box.radius))),
    bottom: Math.max(...boxes.map((box) => Math.max(box.y + box.half.y, box.nodeY + box.radius))),
  };
}

/* Whether a part of the graph is out of sight, in a view that the user has not chosen. */
function isCut(view) {
  if (view.isOwn || !view.data.nodes.length) return false;
  const { left, right, top, bottom } = extent(view);
  const first = view.network.DOMtoCanvas({ x: 0, y: 0 });
  const last = view.network.DOMtoCanvas({ x: view.stage.clientWidth, y: view.stage.clientHeight });
  return left < first.x || top < first.y || right > last.x || bottom > last.y;
}

/* Shows the whole graph with its labels, clear of the frame and of the buttons at the right. */
function fit(view) {
  view.isOwn = false; // the user has not chosen this view
  view.fitted = { width: view.stage.clientWidth, height: view.stage.clientHeight };
  for (let pass = 0; pass < 2; pass += 1) { // twice, because label sizes depend on the scale
    const { left, right, top, bottom } = extent(view);
    const width = view.stage.clientWidth - 2 * view.data.margin - TOOLS;
    const height = view.stage.clientHeight - 2 * view.data.margin;
    const scale = Math.max(0.01, Math.min(CLOSEST, width / (right - left || 1), height / (bottom - top || 1)));
    const position = { x: (left + right) / 2 + TOOLS / 2 / scale, y: (top + bottom) / 2 };
    if (view.data.nodes.length) view.network.moveTo({ position, scale });
    sizeLabels(view);
  }
}

/* The boxes of the labels at the final positions of their nodes, in pixels of the layout. */
function labelBoxes(view, nodes) {
  const pen = view.stage.querySelector("canvas").getContext("2d");
  const { font, size } = view.look.options.nodes;
  const letters = view.labelSize ?? LABEL.normal;
  pen.save();
  pen.font = `${letters}px ${font.face}`;
  const boxes = nodes.map((node) => {
    const radius = node.size ?? size;
    const half = { x: Math.max(radius, pen.measureText(node.label ?? "").width / 2), y: 0.6 * letters };
    const below = !node.font || node.font.vadjust === font.vadjust;
    const y = node.y + (below ? 1 : -1) * (radius + half.y);
    return { node, x: node.x, y, half, nodeY: node.y, radius };
  });
  pen.restore();
  return boxes;
}

/* At a small scale labels are drawn larger than in the layout, so that they stay readable. In a
 * simplified graph they keep their size on screen, so that zooming in separates them. */
function labelSize(view) {
  const scale = view.network.getScale();
  const most = view.look.largest_label;
  if (most) return Math.round(2 * Math.min(most, Math.max(CROWD.smallest, CROWD.onScreen / scale))) / 2;
  const limit = view.data.nodes.length <= FEW ? LABEL.few : LABEL.largest;
  return Math.round(Math.min(limit, Math.max(LABEL.normal, LABEL.smallest / scale)));
}

function sizeLabels(view) {
  const size = labelSize(view);
  if (size !== view.labelSize) {
    view.labelSize = size;
    const { nodes, groups } = view.look.options;
    const larger = Object.entries(groups).map(([name, group]) => {
      const own = group.font ? { ...group.font, size: group.font.size + size - LABEL.normal } : {};
      return [name, group.font ? { ...group, font: own } : group];
    });
    view.network.setOptions({ nodes: { font: { ...nodes.font, size } }, groups: Object.fromEntries(larger) });
    view.nodes.update(view.data.nodes.map((node) => ({ id: node.id, ...fontOf(view, node) })));
  }
  if (view.look.largest_label) thinLabels(view);
}

/* Of overlapping labels in a simplified graph, only that of the larger node is drawn. */
function thinLabels(view) {
  const selected = view.network.getSelectedNodes()[0];
  const weight = (box) => (box.node.id === selected ? Infinity : box.radius);
  const taken = [];
  const changes = [];
  for (const box of labelBoxes(view, view.data.nodes).sort((a, b) => weight(b) - weight(a))) {
    const { x, y, half, node } = box;
    const isFree = taken.every(
      (other) => Math.abs(other.x - x) >= other.half.x + half.x || Math.abs(other.y - y) >= 2 * half.y,
    );
    if (isFree) taken.push(box);
    const label = isFree ? node.label : "";
    if (view.network.body.nodes[node.id].options.label !== label) changes.push({ id: node.id, label });
  }
  if (changes.length) view.nodes.update(changes);
}

/* Keeps a label above its node clear of it at any size. */
function fontOf(view, node) {
  if (!node.font) return {};
  const { vadjust } = node.font;
  const { nodes } = view.look.options;
  if (vadjust === nodes.font.vadjust) return {};
  const larger = (view.labelSize ?? LABEL.normal) - LABEL.normal;
  const wider = 2 * Math.max(0, (node.size ?? nodes.size) - nodes.size);
  return { font: { vadjust: vadjust - larger - wider } };
}

function buildFrame(root) {
  const frame = element("div", "frame");
  const stage = element("div", "stage");
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  const tools = element("div", "tools");
  const legend = element("ul", "legend");
  const note = element("div", "note");
  note.setAttribute("aria-live", "polite");
  frame.append(stage, tools, legend, note);
  root.appendChild(frame);
  const view = { root, frame, stage, legend, note, glide: 0, places: new Map() };
  tools.append(
    button(view, "fit", "Show the whole graph", fit),
    button(view, "closer", "Zoom in", (v) => zoomBy(v, 1.3)),
    button(view, "farther", "Zoom out", (v) => zoomBy(v, 1 / 1.3)),
    button(view, "full", "Full screen", toggleFullScreen),
    button(view, "picture", "Save the picture (PNG)", savePicture),
  );
  return view;
}

function drawLegend(view) {
  const items = view.look.legend.map((item) => {
    const row = element("li");
    const mark = element("span", `mark ${item.shape}`);
    mark.style.setProperty("--fill", item.fill);
    mark.style.setProperty("--border", item.border);
    row.append(mark, element("span", "", item.text));
    return row;
  });
  view.legend.replaceChildren(...items);
}

/* Without vis' moveNode, which redraws the whole graph for every node. */
function move(view, moves, share) {
  for (const { node, from } of moves) {
    const drawn = view.network.body.nodes[node.id];
    drawn.x = from.x + (node.x - from.x) * share;
    drawn.y = from.y + (node.y - from.y) * share;
  }
  view.network.redraw();
}

/* Moves existing nodes to their new positions; ends a running animation first. */
function glideTo(view, nodes) {
  cancelAnimationFrame(view.glide);
  const moves = [];
  for (const node of nodes) {
    const from = view.places.get(node.id);
    if (from && (from.x !== node.x || from.y !== node.y)) moves.push({ node, from });
  }
  view.places = new Map(nodes.map((node) => [node.id, { x: node.x, y: node.y }]));
  const settle = () => {
    view.frame.dataset.settled = "true";
  };
  if (moves.length === 0 || isStill()) {
    move(view, moves, 1);
    settle();
    return;
  }
  view.frame.dataset.settled = "false";
  const start = performance.now();
  const step = (now) => {
    const t = Math.max(0, Math.min(1, (now - start) / GLIDE_MS)); // the frame may have started earlier
    const eased = t * t * (3 - 2 * t);
    move(view, moves, eased);
    if (t < 1) view.glide = requestAnimationFrame(step);
    else settle();
  };
  view.glide = requestAnimationFrame(step);
}

/* vis keeps fields that an update omits, so removed fields are set to null; dashes to false,
 * because vis throws on null there. */
function complete(row, known) {
  const full = { ...row };
  const removed = Object.keys(known || {}).filter((field) => !(field in full));
  for (const field of removed) full[field] = field === "dashes" ? false : null;
  return full;
}

/* Passes only differences to vis, which recomputes every item in an update. */
function update(set, rows, ofNew = () => ({})) {
  const seen = set.seen ?? new Map();
  const texts = new Map(rows.map((row) => [row.id, JSON.stringify(row)]));
  const removed = [...seen.keys()].filter((id) => !texts.has(id));
  if (removed.length) set.remove(removed);
  const changed = rows.filter((row) => texts.get(row.id) !== seen.get(row.id)?.text);
  set.update(
    changed.map((row) => {
      const known = seen.get(row.id)?.row;
      return known ? complete(row, known) : { ...row, ...ofNew(row.id) };
    }),
  );
  set.seen = new Map(rows.map((row) => [row.id, { row, text: texts.get(row.id) }]));
}

function select(view, id) {
  if (id === null || id === undefined || !view.nodes.get(id)) view.network.unselectAll();
  else view.network.selectNodes([id]);
}

/* Centres a node unless it is visible in the view of the whole graph. */
function centre(view, id) {
  if (!view.nodes.get(id)) return;
  if (!view.isOwn && view.network.getScale() >= NEAR) return;
  view.isOwn = true;
  const scale = Math.max(view.network.getScale(), NEAR);
  view.network.focus(id, { scale, animation: lasting(GLIDE_MS) });
}

/* Arrow keys select the nearest node in that direction. */
function walk(view, key) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  const here = view.network.getSelectedNodes()[0];
  const at = here === undefined ? view.network.getViewPosition() : view.places.get(here);
  let best = null;
  for (const [id, place] of view.places) {
    const [x, y] = [place.x - at.x, place.y - at.y];
    const along = x * dx + y * dy;
    const aside = Math.abs(x * dy - y * dx);
    if (id === here || along <= 0) continue;
    const cost = along + 2 * aside;
    if (best === null || cost < best.cost) best = { id, cost };
  }
  if (best) choose(view, best.id, false);
}

/* Home, End, Page Up and Page Down go through all nodes: columns first, then hidden nodes. */
function step(view, key) {
  const ids = view.data.nodes.map((node) => node.id);
  const at = ids.indexOf(view.network.getSelectedNodes()[0]);
  const next = {
    Home: 0,
    End: ids.length - 1,
    PageDown: at + 1,
    PageUp: at < 0 ? ids.length - 1 : at - 1,
  }[key];
  if (ids[next] !== undefined) choose(view, ids[next], false);
}

/* Escape deselects the node; without a selection it leaves the graph. */
function deselect(view) {
  if (view.network.getSelectedNodes().length) choose(view, null, false);
  else view.stage.getRootNode().activeElement?.blur();
}

function open(view) {
  const [here] = view.network.getSelectedNodes();
  if (here !== undefined) choose(view, here, true);
}

function choose(view, id, opens) {
  select(view, id);
  view.note.textContent = id === null ? "" : view.nodes.get(id)?.title || "";
  view.chosen = { id, at: performance.now(), subject: view.subject };
  view.reply("clicked", { node: id, opens });
}

/* Whether the data were sent before the server knew the last choice: keys can be faster. */
function isLate(view) {
  const { chosen, data } = view;
  if (!chosen || chosen.subject !== data.subject) return false;
  if (data.selected === chosen.id) view.chosen = null;
  return data.selected !== chosen.id && performance.now() - chosen.at < ECHO_MS;
}

/* Draws a shaded area under some nodes, in one stroke so that overlaps are not darker. */
function drawShade(view, pen) {
  const { shade } = view.data;
  if (!shade) return;
  const places = view.network.getPositions();
  pen.save();
  pen.globalAlpha = 0.16;
  pen.strokeStyle = view.look.shade;
  pen.lineWidth = 58;
  pen.lineCap = pen.lineJoin = "round";
  pen.beginPath();
  for (const [a, b] of [...shade.lines, ...shade.nodes.map((id) => [id, id])]) {
    if (!places[a] || !places[b]) continue;
    pen.moveTo(places[a].x, places[a].y);
    pen.lineTo(places[b].x + 0.01, places[b].y);
  }
  pen.stroke();
  pen.restore();
}

/* Whether the size of the frame has changed much since the graph was fitted into it. */
function hasNewSize(view) {
  const { clientWidth, clientHeight } = view.stage;
  const { width, height } = view.fitted;
  return Math.abs(clientWidth - width) > ROOM || Math.abs(clientHeight - height) > ROOM;
}

function listen(view) {
  view.network.on("beforeDrawing", (pen) => drawShade(view, pen));
  view.network.on("click", (event) => choose(view, event.nodes[0] ?? null, true));
  for (const event of ["zoom", "animationFinished"]) view.network.on(event, () => sizeLabels(view));
  for (const event of ["zoom", "dragEnd"]) view.network.on(event, () => (view.isOwn = true));
  view.network.on("hoverNode", () => (view.stage.style.cursor = "pointer"));
  view.network.on("blurNode", () => (view.stage.style.cursor = ""));
  view.stage.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow") && view.data.arrow_keys) walk(view, event.key);
    else if (["Home", "End", "PageUp", "PageDown"].includes(event.key)) step(view, event.key);
    else if (event.key === "Escape") deselect(view);
    else if (event.key === "Enter") open(view);
    else if (event.key === "+" || event.key === "=") zoomBy(view, 1.3);
    else if (event.key === "-") zoomBy(view, 1 / 1.3);
    else if (event.key === "0") fit(view);
    else return;
    event.preventDefault();
  });
  view.sized = new ResizeObserver(() => {
    const { width, height } = view.stage.getBoundingClientRect();
    if (!width || !height) return;
    view.network.setSize(`${width}px`, `${height}px`);
    if (!view.hasSize || (!view.isOwn && hasNewSize(view))) fit(view);
    else view.network.redraw();
    sizeLabels(view);
    view.hasSize = true;
  });
  view.sized.observe(view.stage);
}

function draw(view) {
  const { data } = view;
  view.look = data.looks[isDark(view.frame) ? "dark" : "light"];
  view.frame.style.setProperty("--height", `${data.height}px`);
  view.stage.setAttribute("aria-label", data.description);
  drawLegend(view);
  if (!view.network) {
    view.nodes = new globalThis.vis.DataSet();
    view.edges = new globalThis.vis.DataSet();
    const options = { ...view.look.options, autoResize: false };
    options.interaction = { ...options.interaction, keyboard: { enabled: false } };
    view.network = new globalThis.vis.Network(view.stage, view, options);
    view.network.canvas.frame.tabIndex = -1; // the stage around it handles the keys
    view.drawnLook = JSON.stringify(view.look.options);
    listen(view);
  }
  const look = JSON.stringify(view.look.options);
  if (look !== view.drawnLook) {
    view.network.setOptions({ nodes: view.look.options.nodes, edges: view.look.options.edges });
    view.network.groups.clear();
    view.network.setOptions({ groups: view.look.options.groups });
    view.drawnLook = look;
    view.labelSize = LABEL.normal;
  }
  const before = new Map(view.nodes.getIds().map((id) => [id, view.network.getPosition(id)]));
  const places = new Map(data.nodes.map((node) => [node.id, { x: node.x, y: node.y }]));
  const nodes = data.nodes.map(({ x, y, ...node }) => ({ ...node, ...fontOf(view, node) }));
  const pointing = view.network.interactionHandler;
  pointing.popup?.hide(); // its text may have changed
  pointing.popupObj = undefined; // otherwise no tooltip appears until the mouse leaves the node
  update(view.nodes, nodes, (id) => places.get(id)); // existing nodes move there in glideTo
  update(view.edges, data.edges);
  for (const [id, place] of before) if (view.places.has(id)) view.places.set(id, place);
  glideTo(view, data.nodes);
  select(view, isLate(view) ? view.chosen.id : data.selected);
  if (view.subject !== data.subject || (data.uncut && isCut(view))) {
    view.subject = data.subject;
    fit(view);
  }
  if (data.centre && data.centre.request !== view.centred) {
    view.centred = data.centre.request;
    centre(view, data.centre.node);
  }
  sizeLabels(view);
  view.frame.dataset.revision = data.revision;
}

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const view = (root.view ??= buildFrame(root));
  view.data = data;
  view.reply = setTriggerValue;
  const whenReady = () => {
    if (globalThis.vis?.Network) draw(view);
    else view.waiting = setTimeout(whenReady, 20);
  };
  clearTimeout(view.waiting);
  whenReady();
  root.debug = () => ({
    positions: view.network.getPositions(),
    selected: view.network.getSelectedNodes(),
    scale: view.network.getScale(),
    inWindow: (id) => view.network.canvasToDOM(view.network.getPosition(id)),
    box: (id) => view.network.getBoundingBox(id),
  });
  if (!view.watch) {
    view.watch = matchMedia("(prefers-color-scheme: dark)");
    view.restyle = () => {
      clearTimeout(view.restyling);
      view.restyling = setTimeout(() => draw(view), 50);
    };
    view.watch.addEventListener("change", view.restyle);
  }
  return () => {
    view.watch.removeEventListener("change", view.restyle);
    for (const timer of [view.restyling, view.waiting]) clearTimeout(timer);
    view.sized?.disconnect();
    cancelAnimationFrame(view.glide);
    view.network?.destroy();
    root.view = undefined;
    root.replaceChildren();
  };
}
