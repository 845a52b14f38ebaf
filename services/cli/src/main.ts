#!/usr/bin/env node
/** The command line `perdure`. It only enables Node's compile cache and loads the rest, so that the rest profits from it. */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty cache. An unwritable folder only costs the speed.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runCli } = await import("./run-cli.js");
const exitCode = await runCli(process.argv.slice(2), process.env);
// Flush the output: a slow reader receives everything.
for (const stream of [process.stdout, process.stderr]) await new Promise<unknown>((resolve) => stream.write("", resolve));
// Remaining handles of the event loop (connections kept for reuse) must not keep the process running.
process.exit(exitCode);
