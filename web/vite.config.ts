// Builds dist: app.js and app.css, the page that asks the server for them, and the same page
// with both inside it, which opens from disk. Names carry no hash, so that a change of the
// source is a small change of the repository; the server's ETag is their hash.
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The places in index.html that stand for code and style. */
const SCRIPT = '<script type="module" src="/src/main.tsx"></script>';
const STYLE = "<!--style-->";
const ICON = '<link rel="icon" href="icon.svg">';

/** Puts text in at the one place where mark stands; a mark that is gone fails the build. */
function put(page: string, mark: string, text: string): string {
  const parts = page.split(mark);
  if (parts.length !== 2) throw new Error(`index.html holds ${mark} ${parts.length - 1} times, want once`);
  return parts.join(text);
}

/** A script's text that an HTML parser reads to its end: neither closing tag nor comment in it. */
function inlineScript(code: string): string {
  return code.replace(/<(?=\/script|script|!--)/gi, "\\x3C");
}

function pages(): Plugin {
  return {
    name: "pages",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      const app = bundle["app.js"];
      const style = bundle["app.css"];
      if (app?.type !== "chunk" || style?.type !== "asset")
        throw new Error("want app.js and app.css from the build");
      const page = readFileSync(new URL("index.html", import.meta.url), "utf8");
      const linked = put(page, SCRIPT, '<script defer src="app.js"></script>');
      const whole = put(put(page, SCRIPT, ""), ICON, '<link rel="icon" href="data:,">');
      const emit = (fileName: string, source: string) => this.emitFile({ type: "asset", fileName, source });
      emit("index.html", put(linked, STYLE, '<link rel="stylesheet" href="app.css">'));
      emit(
        "standalone.html",
        put(
          put(whole, STYLE, `<style>${style.source}</style>`),
          "</body>",
          `<!--data-->\n<script>${inlineScript(app.code)}</script>\n</body>`,
        ),
      );
    },
  };
}

export default defineConfig({
  plugins: [pages()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: true,
    rolldownOptions: {
      input: "src/main.tsx",
      output: { format: "iife", entryFileNames: "app.js", assetFileNames: "app[extname]" },
    },
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node" },
  server: { proxy: { "/api": process.env.ULLAGE_SERVER ?? "http://127.0.0.1:7777" } },
});
