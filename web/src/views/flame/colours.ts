// Colours of calls: the reader's own code stands out, libraries stay in the back, what is searched for lights up.

interface BoxColours {
  fill: string;
  ink: string;
}

/** Shades of one kind of call: neighbours with different names mostly differ. */
const shades = 3;

/** The colours of a call by its name and kind; kinds are those of frames. */
export function boxColours(
  token: (name: string) => string,
): (name: string, kind: string | number | undefined, found: boolean, faded: boolean) => BoxColours {
  const ink = token("--text");
  const quiet = token("--text-quiet");
  return (name, kind, found, faded) => {
    if (found) return { fill: token("--flame-found"), ink: token("--flame-found-ink") };
    const family = kind === "user" ? "user" : kind === "cpp" ? "cpp" : "library";
    return faded
      ? { fill: token("--flame-faded"), ink: quiet }
      : { fill: token(`--flame-${family}-${shadeOf(name)}`), ink };
  };
}

/** The same name has the same shade everywhere. */
export function shadeOf(name: string): number {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
  return (hash >>> 0) % shades;
}
