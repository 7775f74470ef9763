// The part of Markdown that the pages of rules are written in: headings, paragraphs, lists, code, tables and links.
// Text goes into the page as text, never as HTML.

import type { ComponentChildren } from "preact";

export type BlockNode =
  | { kind: "heading"; depth: number; text: string }
  | { kind: "paragraph"; text: string }
  | { kind: "code"; text: string }
  | { kind: "list"; ordered: boolean; items: string[] }
  | { kind: "table"; head: string[]; rows: string[][] };

/** Splits a text into blocks. */
export function parseMarkdown(text: string): BlockNode[] {
  const lines = text.replace(/\r/g, "").split("\n");
  const blocks: BlockNode[] = [];
  for (let i = 0; i < lines.length; ) {
    const reader = readers.find(({ begins }) => begins.test(lines[i] ?? ""));
    if (!reader) {
      i++;
      continue;
    }
    const { block, next } = reader.read(lines, i);
    blocks.push(block);
    i = next;
  }
  return blocks;
}

interface Reader {
  begins: RegExp;
  read(lines: readonly string[], at: number): { block: BlockNode; next: number };
}

/** The first line from at on that fits; the end where none does. */
function find(lines: readonly string[], at: number, pattern: RegExp): number {
  let i = at;
  while (i < lines.length && !pattern.test(lines[i] ?? "")) i++;
  return i;
}

const item = /^\s*(?:[-*]|\d+[.)])\s+/;
const paragraphEnds = /^\s*$|^#{1,6}\s|^```|^\|/;

const readers: readonly Reader[] = [
  {
    begins: /^```/,
    read(lines, at) {
      const end = find(lines, at + 1, /^```/);
      return { block: { kind: "code", text: lines.slice(at + 1, end).join("\n") }, next: end + 1 };
    },
  },
  {
    begins: /^#{1,6}\s/,
    read(lines, at) {
      const [, signs = "", text = ""] = /^(#+)\s+(.*)$/.exec(lines[at] ?? "") ?? [];
      return { block: { kind: "heading", depth: signs.length, text }, next: at + 1 };
    },
  },
  {
    begins: /^\|/,
    read(lines, at) {
      const end = find(lines, at, /^(?!\|)/);
      const [head = [], , ...rows] = lines.slice(at, end).map(cells);
      return { block: { kind: "table", head, rows }, next: end };
    },
  },
  {
    begins: item,
    read(lines, at) {
      const end = find(lines, at, /^\s*$|^#{1,6}\s|^```/);
      const ordered = /^\s*\d/.test(lines[at] ?? "");
      return { block: { kind: "list", ordered, items: itemsOf(lines.slice(at, end)) }, next: end };
    },
  },
  {
    begins: /\S/,
    read(lines, at) {
      const end = Math.max(at + 1, find(lines, at, paragraphEnds));
      return { block: { kind: "paragraph", text: lines.slice(at, end).join(" ") }, next: end };
    },
  },
];

function cells(line: string): string[] {
  return line
    .replace(/^\||\|\s*$/g, "")
    .split("|")
    .map((cell) => cell.trim());
}

/** A line that begins no item goes on with the one before. */
function itemsOf(lines: readonly string[]): string[] {
  const items: string[] = [];
  for (const line of lines) {
    if (item.test(line)) items.push(line.replace(item, ""));
    else items.push(`${items.pop() ?? ""} ${line.trim()}`.trim());
  }
  return items;
}

export function Markdown({ text }: { text: string }) {
  return (
    <div class="markdown">
      {parseMarkdown(text).map((block, index) => (
        // the text is drawn once, as a whole
        <Block key={index} block={block} />
      ))}
    </div>
  );
}

function Block({ block }: { block: BlockNode }) {
  switch (block.kind) {
    case "heading":
      return block.depth <= 1 ? <h3 class="big">{inline(block.text)}</h3> : <h4>{inline(block.text)}</h4>;
    case "paragraph":
      return <p>{inline(block.text)}</p>;
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        <pre tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case "list":
      return <List ordered={block.ordered} items={block.items} />;
    case "table":
      return <Table head={block.head} rows={block.rows} />;
  }
}

function List({ ordered, items }: { ordered: boolean; items: readonly string[] }) {
  const rows = items.map((text) => <li key={text}>{inline(text)}</li>);
  return ordered ? <ol>{rows}</ol> : <ul>{rows}</ul>;
}

function Table({ head, rows }: { head: readonly string[]; rows: readonly string[][] }) {
  return (
    <table class="list">
      <thead>
        <tr>
          {head.map((cell) => (
            <th key={cell} scope="col">
              {inline(cell)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.join("|")}>
            {row.map((cell, i) => (
              // a row may hold the same text twice
              <td key={i}>{inline(cell)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const marks = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/;

/** Code, bold text and links within a line. The page leads nowhere outside, so a link shows its words alone. */
export function inline(text: string): ComponentChildren[] {
  return text.split(marks).map((part) => {
    if (part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
    if (part.startsWith("**")) return <strong>{part.slice(2, -2)}</strong>;
    const link = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part);
    return link ? <span title={link[2]}>{link[1]}</span> : part;
  });
}
