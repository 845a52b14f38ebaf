/**
 * Starts the chaos (see src/chaos/main.ts) on Node's own type stripping. Our imports end in `.js`, as the
 * compiler wants them; the files beside them end in `.ts`.
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
