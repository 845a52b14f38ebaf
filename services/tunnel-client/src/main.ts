#!/usr/bin/env node
/**
 * The process `perdure-tunnel-client`. Enables Node's compile cache before it loads the program, so that the program's modules are cached.
 */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Beside the bundle, so that a new build starts with an empty cache. If the folder is not writable, starting is only slower.
enableCompileCache(fileURLToPath(new URL("./compile-cache", import.meta.url)));
const { runTunnelClient } = await import("./process/program.js");
// Everything is closed or was abandoned by now; open handles must not keep the process running.
process.exit(await runTunnelClient(process.argv.slice(2), process.env));
