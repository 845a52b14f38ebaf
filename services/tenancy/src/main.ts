#!/usr/bin/env node
/** The process `perdure-tenancy`. It turns Node's compile cache on and then loads the rest, which uses the cache. */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty cache. In a read-only folder only the speed is lost.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runTenancy } = await import("./process/program.js");
// Everything is closed or timed out by now; open handles must not keep the process running.
process.exit(await runTenancy(process.argv.slice(2), process.env));
