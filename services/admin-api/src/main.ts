#!/usr/bin/env node
/** The process `perdure-admin`. It only enables Node's compile cache and loads the rest, so that the rest profits from it. */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty cache. An unwritable folder only costs the speed.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runAdmin } = await import("./process/program.js");
// Everything is closed by now; remaining handles of the event loop must not keep the process running.
process.exit(await runAdmin(process.argv.slice(2), process.env));
