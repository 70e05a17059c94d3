"use strict";
// Draws the figures of the page, and lets one click hide a method in all of them.
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const drawn = [];
  const hidden = new Set();
  let bands = true;

  const isNarrow = () => window.innerWidth <= 600;

  function fitted(figure) {
    const layout = JSON.parse(JSON.stringify(figure.layout));
    const narrow = isNarrow();
    layout.font.size = narrow ? figure.fonts[1] : figure.fonts[0];
    if (narrow) Object.assign(layout.margin, figure.narrow);
    layout.dragmode = narrow ? false : "zoom"; // a finger that scrolls must not zoom
    layout.annotations = labels(figure);
    return layout;
  }

  const labels = (figure) => figure.labels.filter((label) => !hidden.has(label.method));
  // large markers would cover the curves of a small figure
  const sized = (trace) => {
    const many = trace.marker && Array.isArray(trace.marker.size);
    if (!many || !isNarrow()) return trace;
    return { ...trace, marker: { ...trace.marker, size: trace.marker.size.map((size) => 0.75 * size) } };
  };

  const isShown = (trace) => !hidden.has(trace.meta.method) && (bands || !trace.meta.band);

  function draw() {
    for (const figure of figures) {
      const element = document.getElementById(figure.id);
      const options = { responsive: true, displayModeBar: false, doubleClick: "reset" };
      Plotly.newPlot(element, figure.data.map(sized), fitted(figure), options);
      drawn.push(element);
    }
  }

  function update() {
    figures.forEach((figure, place) => {
      const visible = drawn[place].data.map(isShown);
      Plotly.update(drawn[place], { visible: visible }, { annotations: labels(figure) });
    });
    for (const button of document.querySelectorAll("button[data-method]")) {
      button.setAttribute("aria-pressed", String(!hidden.has(Number(button.dataset.method))));
    }
    for (const button of document.querySelectorAll("button[data-bands]")) {
      button.setAttribute("aria-pressed", String(bands));
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.method !== undefined) {
      const method = Number(button.dataset.method);
      if (!hidden.delete(method)) hidden.add(method);
    } else if (button.dataset.bands !== undefined) {
      bands = !bands;
    } else if (button.dataset.all !== undefined) {
      const everything = document.querySelectorAll(".legend")[0].querySelectorAll("button[data-method]");
      if (hidden.size) hidden.clear();
      else for (const other of everything) hidden.add(Number(other.dataset.method));
    } else return;
    update();
  });

  let narrow = isNarrow();
  window.addEventListener("resize", () => {
    if (isNarrow() === narrow) return; // the rest is Plotly's own business
    narrow = isNarrow();
    figures.forEach((figure, place) => Plotly.react(drawn[place], drawn[place].data, fitted(figure)));
  });
  draw();
})();
