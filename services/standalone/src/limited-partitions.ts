/**
 * Rejects commands that add data when the environment has reached its storage limit, whichever API they come from; commands that end or
 * purge invocations free storage, and pass.
 */
import { PerdureError } from "@perdure/base";
import type { Partitions } from "@perdure/control";

/** Message for callers; operators look up the code. */
export function storageIsFull(bytesMax: number): PerdureError {
  return new PerdureError("TEN0003", `the plan of this environment allows ${bytesMax} stored bytes, and they are used up`);
}

/** Called for each command, so that no notification is necessary when there is space again. */
export interface StorageFull {
  readonly isFull: boolean;
  readonly bytesMax: number;
}

/** Returns `partitions` itself without a limit. New invocations become unavailable; other commands that add reject with TEN0003. */
export function limitedPartitions(partitions: Partitions, limit: StorageFull | undefined): Partitions {
  if (limit === undefined) return partitions;
  return {
    invoke(command, wait, observer) {
      if (!limit.isFull) return partitions.invoke(command, wait, observer);
      observer.unavailable(storageIsFull(limit.bytesMax).message);
      return { detach: () => undefined };
    },
    attach: (id, observer) => partitions.attach(id, observer),
    output: (id) => partitions.output(id),
    describe: (id) => partitions.describe(id),
    async submit(command) {
      const adds = command.kind === "restartAsNew" || (command.kind === "mutateState" && command.entries.length > 0);
      if (adds && limit.isFull) throw storageIsFull(limit.bytesMax);
      return await partitions.submit(command);
    },
  };
}
