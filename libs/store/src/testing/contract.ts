/** The contract of every `PartitionStore`. The test file of each driver is one call to `describePartitionStore`. */
import { describe } from "@jest/globals";
import type { PartitionStore } from "../partition-store.js";
import { commitsAndLeaders } from "./commits-and-leaders.js";
import { flowRows } from "./flow-rows.js";
import { invocationsAndJournals } from "./invocations-and-journals.js";
import { keyedRows } from "./keyed-rows.js";
import { largePayloads } from "./large-payloads.js";
import { reopening } from "./reopening.js";
import { timersAndQueues } from "./timers-and-queues.js";

/** How a driver's tests reach it. */
export interface StoreUnderTest {
  /** A store without data, other than any opened before. The caller disposes it. */
  readonly open: () => Promise<PartitionStore>;
  /** The data of the store opened last, which was disposed: what a restart finds. */
  readonly reopen: () => Promise<PartitionStore>;
}

export function describePartitionStore(driver: string, store: StoreUnderTest): void {
  describe(`PartitionStore on ${driver}`, () => {
    commitsAndLeaders(store);
    invocationsAndJournals(store);
    keyedRows(store);
    timersAndQueues(store);
    flowRows(store);
    largePayloads(store);
    reopening(store);
  });
}
