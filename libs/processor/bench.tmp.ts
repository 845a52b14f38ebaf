import { mkdtempSync, rmSync } from "node:fs";
import { newInvocationId, silentLogger, systemClock, systemRandom, utf8 } from "@perdure/base";
import { encodeCommand, encodeInput, MessageType } from "@perdure/service-protocol";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/store";
import { openLevelKeyValue } from "../driver-level/src/level-key-value.js";
import { LocalPartitions, LoopbackPeers, Processor } from "./src/index.js";

const N = Number(process.argv[2] ?? 20000), CONC = Number(process.argv[3] ?? 64), mem = process.argv[4] === "mem";
const dir = mkdtempSync("/tmp/bench/db-");
const kv = mem ? new MemoryKeyValue() : await openLevelKeyValue(dir);
const peers = new LoopbackPeers();
const body = encodeCommand({ kind: "output", result: { kind: "value", value: utf8('"hello"') }, name: "" });
let host: any;
const processor = await Processor.start({ store: new KvPartitionStore(kv), clock: systemClock, logger: silentLogger, soon: (t) => void setImmediate(t), peers, onFenced() {}, onFatal(e) { console.error(e); },
  invoker: (h) => { host = h; return { startRun(e: any) { const id = e.invocation.facts.id, run = e.invocation.run;
    setImmediate(() => { h.submit({ kind: "pin", id, run, pinned: { deploymentId: "dp_15ChR1PDwZt22Rn2lfZrRo5" as any, protocolVersion: 6 } });
    h.submit({ kind: "appendCommand", id, run, type: MessageType.Output, body, ackRequested: false, action: { kind: "output" } }); h.submit({ kind: "end", id, run }); }); },
    entryStored() {}, stopRun() {}, requestPause() {}, retryNow() {}, status() { return undefined; }, statuses() { return []; }, async [Symbol.asyncDispose]() {} } as any; } },
  { partitions: Array.from({ length: 24 }, (_, i) => i), partitionCount: 24, cleanupIntervalMs: 3600000 });
peers.connect(processor);
const parts = new LocalPartitions(processor);
const target = { service: "Greeter", key: undefined, handler: "greet", serviceType: "service", handlerType: "shared" } as const;
async function run(n: number) {
  let started = 0, done = 0; let resolve!: () => void; const p = new Promise<void>((r) => (resolve = r));
  const next = () => { if (started++ >= n) return; const now = Date.now(); const id = newInvocationId(target, now, systemRandom);
    parts.invoke({ kind: "invoke", id, sink: undefined, input: encodeInput([{ key: "content-type", value: "application/json" }, { key: "x-restate-ingress-path", value: "/Greeter/greet" }], utf8('"x"')),
      facts: { id, target, source: { kind: "ingress" }, idempotencyKey: undefined, requestId: 12345678, createdAtMs: now, executionTimeMs: undefined, completionRetentionMs: 86400000, journalRetentionMs: 86400000, randomSeed: undefined, trace: undefined, bytes: undefined } },
      true, { submitted() {}, completed() { if (++done === n) resolve(); next(); }, unavailable(r) { throw new Error(r); } }); };
  for (let i = 0; i < CONC; i++) next();
  await p;
}
await run(5000);
const c0 = processor.counters.commits; const cpu0 = process.cpuUsage(); const t0 = performance.now();
await run(N);
const cpu = process.cpuUsage(cpu0); const ms = performance.now() - t0;
console.log(`${mem ? "memory" : "level"}: ${(N / ms * 1000).toFixed(0)}/s, cpu ${(cpu.user / N).toFixed(1)} user + ${(cpu.system / N).toFixed(1)} sys us/inv, commits ${processor.counters.commits - c0}, rss ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`);
rmSync(dir, { recursive: true }); process.exit(0);
