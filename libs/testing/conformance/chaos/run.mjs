/**
 * Starts the chaos runs (see src/chaos/main.ts) with Node's type stripping. Imports end in `.js`, which the compiler requires; the files
 * end in `.ts`.
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

await import("../src/chaos/main.ts");
