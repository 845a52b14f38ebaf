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

/** Store under test, as its driver opens it. */
export interface StoreUnderTest {
  /** Opens a store without data, separate from any opened before. The caller disposes it. */
  readonly open: () => Promise<PartitionStore>;
  /** Opens the data of the store opened last, which was disposed, as after a restart. */
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
