/**
 * What statements of the CLI cost over many invocations, and how long they block the event loop. Run: bundle with esbuild and start with
 * node; prints one line a statement.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type DeploymentId, newInvocationId, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { EMPTY_PROGRESS, type Invocation, type Target } from "@perdure/state-machine";
import { encodeInvocation } from "@perdure/storage";
import { createSqlEngine } from "../src/engine.js";
import type { IntrospectionSource } from "../src/index.js";

const INVOCATIONS = 100_000;
const PAGE_ROWS = 2048;
const STATEMENTS: readonly (readonly [name: string, sql: string])[] = [
  ["load the engine", "select 1"],
  ["one id", "select * from sys_invocation where id = '$id'"],
  ["list", "SELECT id FROM sys_invocation inv WHERE status != 'completed' ORDER BY inv.created_at DESC, inv.id LIMIT 100"],
  ["list all", "SELECT id FROM sys_invocation inv ORDER BY inv.created_at DESC, inv.id LIMIT 100"],
  ["count sample", "SELECT COUNT(1) FROM (SELECT * FROM sys_invocation inv LIMIT 50000 ) WHERE inv.status != 'completed'"],
  [
    "services status",
    "SELECT target_service_name, status, COUNT(1) as n, MIN(created_at) as at, FIRST_VALUE(id ORDER BY created_at ASC) as id FROM sys_invocation WHERE target_service_name IN ('Greeter') GROUP BY 1, 2",
  ],
  ["all columns of 20,000", "select * from sys_invocation limit 20000"],
];

const invocations = Array.from({ length: INVOCATIONS }, (_, i) => anInvocation(i));
const opened = aSource();
const source = { open: () => ({ ...opened, [Symbol.asyncDispose]: async () => undefined }) };
const engine = createSqlEngine({ source, clock: systemClock, logger: silentLogger });
for (const [name, sql] of STATEMENTS) await measure(name, sql.replace("$id", invocations[7]?.facts.id ?? ""));
await engine[Symbol.asyncDispose]();

async function measure(name: string, sql: string): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const startedAt = performance.now();
  const answer = await engine.query(sql, "json", new AbortController().signal);
  if (answer.kind === "refused") throw new Error(answer.message);
  let bytes = 0;
  for await (const chunk of answer.chunks) bytes += chunk.length;
  const tookMs = performance.now() - startedAt;
  delay.disable();
  console.log(`${name}: ${tookMs.toFixed(1)} ms, ${bytes} bytes, loop stood still ${(delay.max / 1e6).toFixed(1)} ms at most`);
}

function anInvocation(i: number): Invocation {
  const target: Target = {
    scope: undefined,
    service: "Greeter",
    key: undefined,
    handler: "greet",
    serviceType: "service",
    handlerType: "shared",
  };
  const base = {
    facts: {
      id: newInvocationId(target, i, systemRandom),
      target,
      source: { kind: "ingress" as const },
      idempotencyKey: undefined,
      limitKey: undefined,
      priority: 3,
      requestId: 0,
      createdAtMs: Date.UTC(2026, 0, 1) + i,
      executionTimeMs: undefined,
      completionRetentionMs: 86_400_000,
      journalRetentionMs: 86_400_000,
      randomSeed: undefined,
      trace: undefined,
      bytes: undefined,
    },
    modifiedAtMs: Date.UTC(2026, 0, 1) + i,
    run: 1,
    pinned: { deploymentId: "dp_14pRvKO3JzniV4tg6GOFKOl" as DeploymentId, protocolVersion: 6 },
    journal: { ...EMPTY_PROGRESS, length: 2, commands: 2 },
    sinks: [],
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: Date.UTC(2026, 0, 1), completedAtMs: undefined },
  };
  if (i % 10 === 0) return { ...base, status: "invoked", pauseRequested: false };
  return { ...base, status: "completed", outcome: { kind: "success", value: new Uint8Array(2) } };
}

function aSource(): IntrospectionSource {
  const rowsOf = (group: "unfinished" | "completed") =>
    invocations.filter(({ status }) => (status === "completed") === (group === "completed")).map(encodeInvocation);
  const rows = { unfinished: rowsOf("unfinished"), completed: rowsOf("completed") };
  const nothing = { async *[Symbol.asyncIterator]() {} };
  return {
    partitionCount: 1,
    isOneMoment: true,
    store: {
      readJournal: async () => [],
      stateOf: async () => new Map(),
      events: async () => [],
      invocationRow(_partition, id) {
        const match = invocations.find(({ facts }) => facts.id === id);
        return match === undefined ? undefined : encodeInvocation(match);
      },
      async *invocationRows(_partition, group) {
        for (let at = 0; at < rows[group].length; at += PAGE_ROWS) yield rows[group].slice(at, at + PAGE_ROWS);
      },
      scanState: () => nothing,
      scanPromises: () => nothing,
      scanLocks: () => nothing,
      scanInboxes: () => nothing,
    },
    live: {
      held: () => [],
      deployments: () => [],
      services: () => [],
      rules: () => [],
      eventSubscriptions: () => [],
      queues: () => [],
      queueEntries: () => [],
      limits: () => [],
      buckets: () => [],
      completedChanges: () => [null],
      schedules: () => [],
      operations: () => [],
      conditions: () => [],
      nodes: () => [],
      partitions: () => [],
      traffic: () => [],
    },
  };
}
