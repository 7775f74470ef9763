import { expect, test } from "vitest";
import { views } from "./hash.ts";
import { type Chord, chordName, hotkeys, keyGroups, lookUp, type Press } from "./keys.ts";

function press(change: Partial<Press>): Press {
  return { code: "", key: "", shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...change };
}

/** What a keyboard sends for a chord. */
function pressOf({ code = "", key = "", mod = false }: Chord): Press {
  return press({ code, key, ctrlKey: mod });
}

test("each chord of the table leads to its own row", () => {
  for (const hotkey of hotkeys)
    for (const chord of hotkey.chords) expect(lookUp(pressOf(chord))?.hotkey.action).toBe(hotkey.action);
});

test("every view has the key of its number, and every row a group and words", () => {
  for (const [index, view] of views.entries())
    expect(lookUp(press({ code: `Digit${index + 1}`, key: String(index + 1) }))?.hotkey.action).toBe(
      `view-${view}`,
    );
  for (const { group, help } of hotkeys) {
    expect(keyGroups).toContain(group);
    expect(help).toMatch(/^[A-Z]/);
  }
});

test("letters are meant by their place", () => {
  // On a French keyboard the key right of Tab prints z and is where W is on an English one.
  expect(lookUp(press({ code: "KeyW", key: "z" }))?.hotkey.action).toBe("zoom-in");
});

test("signs are meant by what they print", () => {
  // On a German keyboard the slash is Shift and 7.
  expect(lookUp(press({ code: "Digit7", key: "/", shiftKey: true }))?.hotkey.action).toBe("search");
  expect(lookUp(press({ code: "Minus", key: "?", shiftKey: true }))?.hotkey.action).toBe("help");
});

test("Shift is faster where that means something, and else no key of the page", () => {
  expect(lookUp(press({ code: "KeyD", key: "D", shiftKey: true }))).toMatchObject({ fast: true });
  expect(lookUp(press({ code: "KeyD", key: "d" }))).toMatchObject({ fast: false });
  expect(lookUp(press({ code: "KeyL", key: "L", shiftKey: true }))).toBeUndefined();
});

test("keys of the browser are left alone", () => {
  expect(lookUp(press({ code: "KeyW", key: "w", ctrlKey: true }))).toBeUndefined();
  expect(lookUp(press({ code: "KeyA", key: "a", metaKey: true }))).toBeUndefined();
  expect(lookUp(press({ code: "ArrowLeft", key: "ArrowLeft", altKey: true }))).toBeUndefined();
  expect(lookUp(press({ code: "KeyK", key: "k", metaKey: true }))?.hotkey.action).toBe("palette");
});

test("chords are called as on the reader's keyboard", () => {
  expect(chordName({ code: "KeyW" })).toBe("W");
  expect(chordName({ code: "KeyW" }, false, new Map([["KeyW", "z"]]))).toBe("Z");
  expect(chordName({ code: "ArrowLeft" })).toBe("←");
  expect(chordName({ code: "BracketLeft" })).toBe("[");
  expect(chordName({ key: "?" })).toBe("?");
  expect(chordName({ code: "KeyK", mod: true })).toBe("Ctrl K");
  expect(chordName({ code: "KeyK", mod: true }, true)).toBe("⌘K");
});
