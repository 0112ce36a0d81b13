"use strict";
(() => {
  const drawing = JSON.parse(document.getElementById("drawing").textContent);
  const stage = document.getElementById("stage");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const nodes = new vis.DataSet(drawing.nodes);
  const edges = new vis.DataSet(drawing.edges);
  let network = null;

  function fit() {
    network.fit({ maxZoomLevel: 1.25, animation: false });
    const scale = network.getScale() * 1.03; // fit leaves a tenth empty, and ignores labels above nodes
    const { x, y } = network.getViewPosition();
    network.moveTo({ position: { x, y: y - 11 / scale }, scale });
  }

  function draw() {
    let view = null;
    if (network) {
      network.storePositions();
      view = { position: network.getViewPosition(), scale: network.getScale() };
      network.destroy();
    }
    const options = drawing.options[dark.matches ? "dark" : "light"];
    network = new vis.Network(stage, { nodes, edges }, options);
    network.redraw(); // measures the labels, which fit needs
    if (view) network.moveTo(view); else fit();
    network.once("afterDrawing", () => { stage.dataset.drawn = dark.matches ? "dark" : "light"; });
    network.redraw();
    window.loopylatent = { network, nodes, edges };
  }

  const zoom = (factor) => network.moveTo({
    scale: network.getScale() * factor,
    animation: matchMedia("(prefers-reduced-motion: reduce)").matches
      ? false
      : { duration: 150, easingFunction: "easeOutQuad" },
  });
  document.getElementById("closer").addEventListener("click", () => zoom(1.35));
  document.getElementById("farther").addEventListener("click", () => zoom(1 / 1.35));
  document.getElementById("whole").addEventListener("click", fit);
  dark.addEventListener("change", draw);
  draw();
})();
