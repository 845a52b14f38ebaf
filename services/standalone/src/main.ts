#!/usr/bin/env node
/**
 * The process `perdure`. It only turns Node's compile cache on and loads the rest, so that the rest profits from it:
 * a warm start then skips compiling several hundred kilobytes of JavaScript.
 */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty one. An unwritable folder only costs the speed.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runCommandLine } = await import("./command-line.js");
// All is closed or given up by now; what still holds the event loop is no reason to stay.
process.exit(await runCommandLine(process.argv.slice(2), process.env));
