/** The digest of all that the page is built from, kept beside it: so it can be told without Node whether both belong together. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const TOP = ["index.html", "package-lock.json", "package.json", "sources.ts", "tsconfig.json", "vite.config.ts"];

export function sourcesNoted(): Plugin {
  return {
    name: "sources-noted",
    apply: "build",
    generateBundle() {
      const inside = readdirSync("src", { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).replaceAll("\\", "/"));
      const hash = createHash("sha256");
      for (const path of [...TOP, ...inside].sort()) {
        hash.update(`${path}\n${createHash("sha256").update(readFileSync(path)).digest("hex")}\n`);
      }
      this.emitFile({ type: "asset", fileName: "sources.sha256", source: `${hash.digest("hex")}\n` });
    },
  };
}
