#!/usr/bin/env node
/** The command line `perdure`. It only turns Node's compile cache on and loads the rest, so that the rest profits from it. */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty one. An unwritable folder only costs the speed.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runCli } = await import("./run.js");
const exitCode = await runCli(process.argv.slice(2), process.env);
// Whoever reads slowly gets everything.
for (const stream of [process.stdout, process.stderr]) await new Promise<unknown>((resolve) => stream.write("", resolve));
// What still holds the event loop (connections kept for reuse) is no reason to stay.
process.exit(exitCode);
