"use strict";
(() => {
  // Show the drawing instead of the static picture; scrolling zooms only after a click.
  document.documentElement.classList.add("live");
  const stage = document.getElementById("stage");
  const zooms = (on) => {
    stage.classList.toggle("zooms", on);
    window.loopylatent.network.setOptions({ interaction: { zoomView: on } });
  };
  stage.addEventListener("pointerdown", () => zooms(true));
  stage.addEventListener("pointerleave", () => zooms(false));
})();
