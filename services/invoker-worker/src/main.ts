#!/usr/bin/env node
/** The process `perdure-worker`. It only enables Node's compile cache and imports the program, so that the program is cached. */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty cache. An unwritable folder only makes starts slower.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runWorker } = await import("./process/program.js");
// All parts are closed or timed out by now; handles that still hold the event loop do not delay the exit.
process.exit(await runWorker(process.argv.slice(2), process.env));
