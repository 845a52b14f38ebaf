/**
 * Explanations in a cluster read partitions, their archive and the state in memory of workers through the same interface as in one process.
 */
import type { InvocationId } from "@perdure/base";
import type { RemoteRows } from "@perdure/grpc";
import type { AsyncPartitionStore, RowKey, RowValues } from "@perdure/storage";
import type { InsightSource } from "../insight/source.js";

/** `store` includes its archive. `partitionCount` is called for each request, because it is 0 until the first worker has reported it. */
export function clusterInsight(store: AsyncPartitionStore, rows: RemoteRows, partitionCount: () => number): InsightSource {
  async function row<K extends RowKey["kind"]>(partition: number, key: Extract<RowKey, { kind: K }>): Promise<RowValues[K]> {
    const [first] = await store.fetch(partition, [key]);
    return first?.value as RowValues[K]; // Rows arrive in the order of their keys, each of its kind.
  }
  return {
    get partitionCount() {
      return partitionCount();
    },
    store: {
      reads: {
        invocation: (partition, id) => row<"invocation">(partition, { kind: "invocation", id }),
        lock: (partition, service, key) => row<"lock">(partition, { kind: "lock", service, key }),
        inbox: (partition, service, key, seq) => row<"inbox">(partition, { kind: "inbox", service, key, seq }),
      },
      readJournal: (partition, id, length, bytesMax) => store.readJournal(partition, id, length, bytesMax),
      events: (partition, id) => store.events(partition, id),
      stateOf: (partition, service, key) => row<"stateOf">(partition, { kind: "stateOf", service, key }),
      flow: (partition) => store.flow(partition),
    },
    invoker: {
      status: (id: InvocationId) => rows.status(id),
      flowWait: (id: InvocationId) => rows.flowWait(id),
    },
  };
}
