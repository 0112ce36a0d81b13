"use strict";
(() => {
  // the drawing takes the place of the picture, and the wheel belongs to the page until a click
  document.documentElement.classList.add("live");
  const stage = document.getElementById("stage");
  const zooms = (on) => {
    stage.classList.toggle("zooms", on);
    window.loopylatent.network.setOptions({ interaction: { zoomView: on } });
  };
  stage.addEventListener("pointerdown", () => zooms(true));
  stage.addEventListener("pointerleave", () => zooms(false));
})();
