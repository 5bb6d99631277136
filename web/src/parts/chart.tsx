import * as Plot from "@observablehq/plot";
import { useEffect, useRef } from "preact/hooks";
import { useWidth } from "./width";

/** A chart of Observable Plot as wide as its place. `draw` gets the width; `about` says in words what it shows. */
export function Chart({
  draw,
  about,
  inputs,
}: {
  draw: (width: number) => Plot.PlotOptions;
  about: string;
  inputs: readonly unknown[];
}) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  useEffect(() => {
    const place = box.current;
    if (!place || !width) return;
    const chart = Plot.plot({ width, ...draw(width) });
    // Plot's own style element is not allowed by our content security policy; chart.css has what it would say.
    for (const style of chart.querySelectorAll("style")) style.remove();
    for (const drawing of chart.matches("svg") ? [chart] : chart.querySelectorAll("svg")) {
      drawing.setAttribute("aria-hidden", "true");
    }
    place.replaceChildren(chart);
    return () => place.replaceChildren();
  }, [width, ...inputs]);
  return <div class="chart" ref={box} role="img" aria-label={about} />;
}
