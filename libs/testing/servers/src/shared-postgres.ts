/**
 * The PostgreSQL server that the suites of one run share: started by `deploy/testing/run.mjs`, prints its URL on one line, and stops when
 * its standard input ends, which it does however the runner ends.
 */
import { SHARED_CONNECTIONS_MAX } from "./limits.js";
import { startPostgres } from "./postgres.js";

// Ctrl-C reaches the whole group of processes; the runner decides when the server stops.
process.on("SIGINT", () => {});
const server = await startPostgres({ config: { max_connections: String(SHARED_CONNECTIONS_MAX) } });
console.log(server.url);
process.stdin.resume().once("end", async () => {
  await server[Symbol.asyncDispose]();
  process.exit();
});
