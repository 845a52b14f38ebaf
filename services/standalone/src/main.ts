#!/usr/bin/env node
/**
 * The process `perdure`. It only enables Node's compile cache and imports the program, so that the program is cached: a warm start then
 * skips compiling several hundred kilobytes of JavaScript.
 */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty cache. An unwritable folder only makes starts slower.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runCommandLine } = await import("./command-line.js");
// All parts are closed or timed out by now; handles that still hold the event loop do not delay the exit.
process.exit(await runCommandLine(process.argv.slice(2), process.env));
