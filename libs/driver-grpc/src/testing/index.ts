/** Why: tests of roles that ask workers need workers that answer, in their own process and without user code. */
export { anInvoke, NOTHING_LIVE, PARTITIONS, TestWorker } from "./workers.js";
