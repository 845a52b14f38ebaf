/** Servers for tests, and workers for tests of roles that call workers: they run in the test's process and need no user code. */
export { CARRIERS, type Carrier, connectTo, TestServer } from "./test-server.js";
export { anInvoke, NOTHING_LIVE, PARTITIONS, TestWorker } from "./workers.js";
