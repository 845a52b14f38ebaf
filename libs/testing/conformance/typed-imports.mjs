/** Resolves imports as the compiler does: they end in `.js`, and the files end in `.ts`, whose types Node removes. */
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
