// Events that a sentence of evidence names, so that they lead there.

export interface EvidencePart {
  text: string;
  /** Null for the words between events. */
  event: number | null;
}

/** Cuts a sentence at the events it names: "event 1,234", "event e1234", "e1234". */
export function evidenceParts(sentence: string): EvidencePart[] {
  return sentence
    .split(/(\bevent e?\d[\d,]*\d|\bevent e?\d|\be\d+\b)/)
    .filter((text) => text !== "")
    .map((text) => ({ text, event: eventIn(text) }));
}

function eventIn(text: string): number | null {
  const digits = /^(?:event )?e?(\d[\d,]*)$/.exec(text)?.[1];
  return digits === undefined ? null : Number(digits.replaceAll(",", ""));
}
