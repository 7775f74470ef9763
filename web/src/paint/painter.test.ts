import { expect, test } from "vitest";
import { fitted, SVGPainter } from "./painter.ts";

const width = (text: string) => text.length;

test("words that are too wide are cut where they no longer fit", () => {
  expect(fitted("forward", 7, width)).toBe("forward");
  expect(fitted("forward", 6, width)).toBe("forwa…");
  expect(fitted("forward", 2, width)).toBe("f…");
  expect(fitted("forward", 1, width)).toBe("");
});

test("an SVG holds names of any kind as text", () => {
  const painter = new SVGPainter("sans");
  painter.rect(0, 10, 20.005, 5, "#ff0000");
  painter.hatch(0, 20, 5, 5, "#00ff00");
  painter.hatch(0, 30, 5, 5, "#00ff00");
  painter.text('<module> & "x"', 1, 2, "#000000", 500);
  painter.text("left out", 1, 2, "#000000", 3);
  const svg = painter.finish(100, 50, 10, "#ffffff");
  expect(svg).toContain('<rect x="0" y="10" width="20.01" height="5" fill="#ff0000"/>');
  expect(svg).toContain("&lt;module&gt; &amp; &quot;x&quot;");
  expect(svg).not.toContain("left out");
  expect(svg.match(/<pattern/g)).toHaveLength(1);
  expect(svg).toContain('<g transform="translate(0 -10)">');
});
