import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { createHttpTransport, fetchOnce } from "@perdure/driver-http2";
import { openLevelKeyValue } from "@perdure/driver-level";
import { createIngress } from "@perdure/ingress-gateway";
import { createInvoker } from "@perdure/invoker";

import * as metadata from "@perdure/metadata";
import { LocalPartitions, LoopbackPeers, Processor } from "@perdure/processor";
import { createRegistry, SERVICE_DEFAULTS } from "@perdure/registry";
import { KvPartitionStore } from "@perdure/store";

const [, , dir, endpoint, port = "18080"] = process.argv;
const clock = systemClock,
  random = systemRandom;
const logger = {
  ...silentLogger,
  info() {},
  warn: (f: object, m: string) => console.error("warn", m, f),
  error: (f: object, m: string) => console.error("ERROR", m, f),
} as any;
const http = createHttpTransport({ clock, random });
const registry = await createRegistry(
  {
    metadata: (metadata as any).createMemoryMetadataStore?.() ?? new (metadata as any).MemoryStore(),
    clock,
    random,
    logger,
    countUsage: (async () => ({})) as any,
    fetcher: {
      fetch: (r, signal) =>
        fetchOnce(
          { transport: http, clock },
          { ...r, uri: (r.target as any).uri, httpVersion: (r.target as any).httpVersion } as any,
          { signal },
        ) as any,
    },
  },
  {
    defaults: SERVICE_DEFAULTS,
    requestHeaders: { "x-restate-cluster-name": "localcluster" },
    routingHeaders: [],
    kafkaClusters: new Map(),
  },
);
const peers = new LoopbackPeers();
const store = new KvPartitionStore(await openLevelKeyValue(dir!));
const processor = await Processor.start(
  {
    store,
    clock,
    logger,
    soon: (t) => void setImmediate(t),
    peers,
    onFenced() {},
    onFatal(e) {
      console.error("FATAL", e);
      process.exit(1);
    },
    invoker: (host) => createInvoker({ host, registry, transports: { http }, clock, random, logger }),
  },
  { partitions: Array.from({ length: 24 }, (_, i) => i), partitionCount: 24, cleanupIntervalMs: 60_000 },
);
peers.connect(processor);
const ingress = createIngress({ registry, partitions: new LocalPartitions(processor), clock, random, logger });
await ingress.listen({ port: Number(port) });
await registry.register(
  {
    address: { kind: "http", uri: endpoint!, useHttp11: false } as any,
    additionalHeaders: {},
    metadata: {},
    force: true,
    breaking: false,
    dryRun: false,
  } as any,
  new AbortController().signal,
);
console.log("ready");
setInterval(() => {
  const c = process.cpuUsage();
  console.log(JSON.stringify({ ...processor.counters, cpuUs: c.user + c.system, rssMB: (process.memoryUsage().rss / 1e6) | 0 }));
}, 2000).unref();
process.on("SIGUSR2", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));
