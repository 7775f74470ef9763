// What the tests of the page act in: the program as it is built, and a browser. A page that logs an error, or asks
// anyone but its own server, fails its test.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const program = process.env.ULLAGE ?? join(root, "bin/ullage");

/** A recording of testdata by its name. */
export function recording(name: string): string {
  return join(root, "testdata/recordings", `${name}.pickle.xz`);
}

/** What the program prints. */
export function run(...args: string[]): string {
  return execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28 });
}

export interface Server {
  url: string;
  stop(): Promise<void>;
}

/** `ullage view` with these arguments, once it has printed its address. */
export async function serve(...args: string[]): Promise<Server> {
  const child = spawn(program, ["view", "--no-open", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<void>((done) => child.on("exit", () => done()));
  const url = await firstLine(child);
  return {
    url,
    stop: () => {
      child.kill("SIGINT");
      return ended;
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    if (!child.stdout) throw new Error("the program has no standard output");
    const lines = createInterface({ input: child.stdout });
    lines.once("line", done);
    child.once("exit", (code) =>
      failed(new Error(`the program ended with ${code} before it gave an address`)),
    );
  });
}

/** A folder that is gone after the tests of the file. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "ullage-e2e-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}

function browserPath(): string {
  const candidates = [
    process.env.CHROMIUM ?? "",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
  ];
  const found = candidates.find((path) => path !== "" && existsSync(path));
  if (!found)
    throw new Error("no Chromium found: install it, or name it in CHROMIUM; scripts/test-web does so");
  return found;
}

let browser: Browser;
const faults: string[] = [];

/** Call it once in a file: a browser for its tests. Faults of a page fail the test in which they came. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: browserPath(),
      args: ["--no-sandbox", "--disable-gpu"],
    });
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    expect(faults.splice(0)).toEqual([]);
  });
}

export interface PageOptions extends BrowserContextOptions {
  /** Errors that the test means to cause. */
  expected?: RegExp;
}

export async function newPage({ expected, ...options }: PageOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const note = (text: string) => {
    if (!expected?.test(text)) faults.push(text);
  };
  page.on("pageerror", (error) => note(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") note(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|file:|data:|blob:)/.test(request.url())) note(`request: ${request.url()}`);
  });
  return page;
}

/** Opens the page at a state, and waits until the device is there. */
export async function open(server: Server, hash = "", options: PageOptions = {}): Promise<Page> {
  const page = await newPage(options);
  await page.goto(`${server.url}#u=1&${hash}`);
  await ready(page);
  return page;
}

/** The line at the bottom knows what is allocated at the cursor. */
export async function ready(page: Page): Promise<void> {
  await page.locator(".readout", { hasText: /allocated \d/ }).waitFor();
}

/** The state that the address holds, once it has followed. */
export function hashOf(page: Page): URLSearchParams {
  return new URLSearchParams(new URL(page.url()).hash.slice(1));
}

/** Waits until a part of the address is as it should be. */
export async function hashBecomes(page: Page, key: string, value: RegExp | null): Promise<void> {
  await expect
    .poll(() => hashOf(page).get(key), { timeout: 15_000 })
    .toSatisfy((text: string | null) => (value === null ? text === null : text !== null && value.test(text)));
}

export function view(page: Page, name: string): Promise<void> {
  return page.getByRole("main", { name }).waitFor();
}

/** What of the readout stands behind a name. */
export async function readout(page: Page, name: string): Promise<string> {
  const text = await page.locator(".readout-item", { hasText: new RegExp(`^${name} `) }).innerText();
  return text.slice(name.length + 1);
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Violations of accessibility that axe-core finds in what is shown, one line each. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; help: string; nodes: { html: string }[] }[] }> };
    };
    const { violations: found } = await axe.run();
    return found.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
    );
  });
}
