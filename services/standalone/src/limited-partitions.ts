/** Why: an environment that stores all it may takes nothing that adds to it, by whatever door; what ends or forgets invocations makes room, and passes. */
import { PerdureError } from "@perdure/base";
import type { Partitions } from "@perdure/control";

/** What callers are told; the code is looked up by people. */
export function storageIsFull(bytesMax: number): PerdureError {
  return new PerdureError("TEN0003", `the plan of this environment allows ${bytesMax} stored bytes, and they are used up`);
}

/** Asked for each command, so that nobody has to be told when there is room again. */
export interface StorageFull {
  readonly isFull: boolean;
  readonly bytesMax: number;
}

/** `partitions` itself without a limit. New invocations become unavailable; other commands that add reject with TEN0003. */
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
