/**
 * Starts a benchmark with Node's type stripping: `run.mjs bench`, `check`, `sections` or `test-environments`. Imports end in `.js`, which the compiler
 * requires; the files end in `.ts`.
 */
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith(".") && specifier.endsWith(".js") && context.parentURL !== undefined) {
      const typed = new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL);
      if (existsSync(fileURLToPath(typed))) return next(typed.href, context);
    }
    return next(specifier, context);
  },
});

const [what = "bench"] = process.argv.slice(2);
await import(
  {
    bench: "./bench.ts",
    check: "./check.ts",
    sections: "./sections.mjs",
    "test-environments": "./test-environments.ts",
  }[what]
);
