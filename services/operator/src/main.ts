#!/usr/bin/env node
/** The process `perdure-operator`. It only turns Node's compile cache on and loads the rest, so that the rest profits from it. */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty one. An unwritable folder only costs the speed.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runOperator } = await import("./process/program.js");
// All is closed or given up by now; what still holds the event loop is not a reason to stay.
process.exit(await runOperator(process.argv.slice(2), process.env));
