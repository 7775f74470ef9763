import { expect, test } from "vitest";
import { wheelMeans } from "./gestures.ts";

const still = { deltaX: 0, deltaY: 0, deltaMode: 0, ctrlKey: false, shiftKey: false, altKey: false };

const turn = (event: Partial<typeof still>, scheme: "zoom" | "scroll" = "zoom") =>
  wheelMeans({ ...still, ...event }, scheme);

test("a notch towards the screen zooms in by a quarter, away from it out", () => {
  expect(turn({ deltaY: -100 }).zoomX).toBeCloseTo(1.25);
  expect(turn({ deltaY: 100 }).zoomX).toBeCloseTo(0.8);
});

test("lines count as pixels", () => {
  expect(turn({ deltaY: -3, deltaMode: 1 }).zoomX).toBeCloseTo(turn({ deltaY: -48 }).zoomX);
});

test("Alt zooms up and down only", () => {
  expect(turn({ deltaY: -100, altKey: true })).toEqual({
    zoomX: 1,
    zoomY: expect.closeTo(1.25),
    panX: 0,
    panY: 0,
  });
});

test("Shift and sideways pan, and do not zoom", () => {
  expect(turn({ deltaY: 30, shiftKey: true })).toEqual({ zoomX: 1, zoomY: 1, panX: 30, panY: 0 });
  expect(turn({ deltaX: 30, shiftKey: true })).toEqual({ zoomX: 1, zoomY: 1, panX: 30, panY: 0 });
  expect(turn({ deltaX: -40, deltaY: 5 })).toEqual({ zoomX: 1, zoomY: 1, panX: -40, panY: 0 });
});

test("a pinch of a trackpad, which comes as small turns with Ctrl, zooms at the speed of fingers", () => {
  expect(turn({ deltaY: -10, ctrlKey: true }).zoomX).toBeCloseTo(turn({ deltaY: -50 }).zoomX);
  expect(turn({ deltaY: -100, ctrlKey: true }).zoomX).toBeCloseTo(1.25);
});

test("a wheel that moves does so up and down, and zooms with Ctrl", () => {
  expect(turn({ deltaY: 30 }, "scroll")).toEqual({ zoomX: 1, zoomY: 1, panX: 0, panY: 30 });
  expect(turn({ deltaY: -100, ctrlKey: true }, "scroll").zoomX).toBeCloseTo(1.25);
  expect(turn({ deltaY: 30, shiftKey: true }, "scroll").panX).toBe(30);
});
