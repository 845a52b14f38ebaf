import { expect, test } from "@jest/globals";
import { PerdureError, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { invokerDefaults } from "@perdure/invoker";
import { type AsyncPartitionStore, KvPartitionStore, type Leases, type Member, MemoryKeyValue } from "@perdure/storage";
import { createClusterWorker } from "./cluster-worker.js";

const EMPTY: RegistrySnapshot = { services: new Map(), deployments: new Map(), rules: [] };
const nowhere: EndpointTransport = {
  open() {
    throw new Error("nothing is registered, so no endpoint is called");
  },
  async [Symbol.asyncDispose]() {},
};

test("a worker that cannot start leaves the list of workers, where others would count on it", async () => {
  const members = new Map<string, Member>();
  const leases: Leases = {
    acquire: () => Promise.reject(new PerdureError("STO0001", "Redis gave no answer")),
    renew: async () => [],
    release: async () => undefined,
    holders: async () => [undefined],
  };
  const starting = createClusterWorker(
    {
      store: new KvPartitionStore(new MemoryKeyValue()) as unknown as AsyncPartitionStore,
      archiving: undefined,
      mayLead: async () => undefined,
      leases,
      membership: {
        async beat(self) {
          members.set(self.id, self);
          return [...members.values()];
        },
        async leave(id) {
          members.delete(id);
        },
      },
      registry: { current: () => EMPTY, onChange: () => () => undefined },
      transports: { http: nowhere, lambda: undefined },
      tracing: undefined,
      identity: undefined,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      metrics: undefined,
      tls: undefined,
    },
    { id: "worker-1", address: "127.0.0.1:1", partitionCount: 1, cleanupIntervalMs: 60_000, invoker: invokerDefaults },
  );
  await expect(starting).rejects.toMatchObject({ code: "STO0001" });
  expect([...members.keys()]).toEqual([]);
});
