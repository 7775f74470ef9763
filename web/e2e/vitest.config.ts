import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: [process.env.PICTURES ? "pictures.ts" : "*.test.ts"],
    environment: "node",
    testTimeout: 90_000, // a busy machine; nothing waits for a time to pass
    hookTimeout: 60_000,
    fileParallelism: false, // each file has a server and a browser of its own
  },
});
