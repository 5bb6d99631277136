import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { sourcesNoted } from "./sources.ts";

export default defineConfig({
  base: "./",
  plugins: [sourcesNoted()],
  resolve: { alias: { "d3-geo": fileURLToPath(new URL("src/parts/no-maps.ts", import.meta.url)) } },
  build: {
    outDir: "../src/lamina/server/inspector/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false, // a screen looks the same, whichever was seen before
    reportCompressedSize: false,
    sourcemap: false,
    license: { fileName: "licences.md" },
  },
  server: { proxy: { "/v1": "http://127.0.0.1:8640", "/openai": "http://127.0.0.1:8640" } },
});
