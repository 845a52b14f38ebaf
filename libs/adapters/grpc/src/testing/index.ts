/** Workers for tests of roles that call workers: they run in the test's process and need no user code. */
export { anInvoke, NOTHING_LIVE, PARTITIONS, TestWorker } from "./workers.js";
