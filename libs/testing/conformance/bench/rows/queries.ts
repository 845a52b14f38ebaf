/**
 * SQL over many invocations: what each statement takes alone, and what calls notice of statements that run back to back. Two rows, because
 * calls add invocations, and the faster server more of them.
 */
import { callMany, post, query } from "../harness/calls.js";
import { type Figure, type Row, type Run, ratioAtMost, withCpu } from "../harness/row.js";
import { wrk, wrkAnswered } from "../harness/wrk.js";
import { HEAVY, STATEMENTS } from "./statements.js";

const INVOCATIONS = 100_000;
const INVOCATIONS_SHORT = 1_000;
/** Shares of the work that fills a server; the rest are no-ops. */
const SHARES = { three: 0.2, counter: 0.2, noop: 0.6 } as const;
const SUSPENDED = 1_000;
const RUNNING = 50;
const SLEEP_MS = 6 * 3_600_000;
const CONNECTIONS = 16;
const STATEMENT_MS_MAX = 200;
/** Statements that have to be faster than the reference. */
const COMPARED: ReadonlySet<string> = new Set(["count by status", "100 newest", "Q11 by target", "Q10 journal"]);

const keyOf = (index: number, of: "ms" | "cpu"): string => `${of}${index}`;
const goalOf = (title: string): Pick<Figure, "goal"> => (COMPARED.has(title) ? { goal: ratioAtMost(1) } : {});

export const rows: readonly Row[] = [
  {
    name: "queries-100000",
    title: `${INVOCATIONS.toLocaleString("en")} completed invocations`,
    secondsMax: 1_800,
    figures: {
      ...Object.fromEntries(
        STATEMENTS.flatMap(([title], index): [string, Figure][] => [
          [keyOf(index, "ms"), { title, unit: "ms", ...goalOf(title) }],
          [keyOf(index, "cpu"), { title: `${title}: server CPU`, unit: "ms" }],
        ]),
      ),
      slowestMs: { title: "slowest statement", unit: "ms", goal: { of: "value", is: "at most", limit: STATEMENT_MS_MAX } },
    },
    prepare: async (run) => {
      await fill(run);
      for (const [, sql] of await statementsFor(run)) await answered(run, sql); // The first time compiles.
    },
    measure: measureStatements,
  },
  {
    name: "calls-beside-queries",
    title: `no-ops beside statements over ${INVOCATIONS.toLocaleString("en")} invocations`,
    secondsMax: 1_800,
    figures: {
      p99: { title: "p99 without statements", unit: "ms" },
      p99Beside: { title: "p99 beside statements that read everything", unit: "ms" },
    },
    prepare: fill,
    measure: measureCallsBeside,
  },
];

async function fill(run: Run): Promise<void> {
  const { server, isShort, signal, firstId } = run;
  const count = isShort ? INVOCATIONS_SHORT : INVOCATIONS;
  for (const [workload, share] of Object.entries(SHARES)) {
    for (let done = 0; done < count * share; ) {
      const { requests, failed } = await wrk(server.ingress, workload as keyof typeof SHARES, 64, isShort ? 1 : 5, { signal });
      if (failed > 0) throw new Error(`${failed} of ${requests} requests failed`);
      done += requests;
    }
  }
  const suspended = isShort ? SUSPENDED / 10 : SUSPENDED;
  const sleep = (n: number): string => JSON.stringify({ id: firstId + n, ms: SLEEP_MS });
  await callMany(suspended, (n) => post(server, "Sleeper/sleep/send", sleep(n), signal));
  await callMany(RUNNING, () => post(server, "Bench/hang/send", undefined, signal));
}

async function statementsFor({ server, signal }: Run): Promise<[title: string, sql: string][]> {
  const sql = "SELECT id, pinned_deployment_id FROM sys_invocation WHERE target = 'Bench/three' LIMIT 100";
  const sample = await query(server, sql, signal);
  const [one] = sample;
  if (one === undefined) throw new Error("no invocation of Bench/three is kept");
  const ids = sample.map(({ id }) => `'${String(id)}'`).join(",");
  const filled = (text: string): string =>
    text.replace("$ids", ids).replace("$id", String(one["id"])).replace("$deployment", String(one["pinned_deployment_id"]));
  return STATEMENTS.map(([title, text]) => [title, filled(text)]);
}

/** Rows of a statement. Undefined when the reference refuses it: it has no such table, or refuses an id that names nothing. */
async function answered({ server, signal }: Run, sql: string): Promise<Readonly<Record<string, unknown>>[] | undefined> {
  try {
    return await query(server, sql, signal);
  } catch (cause) {
    if (server.kind !== "reference" || signal.aborted) throw cause;
    return undefined;
  }
}

async function measureStatements(run: Run): Promise<Record<string, number>> {
  const readings: Record<string, number> = {};
  let slowestMs = 0;
  for (const [index, [title, sql]] of (await statementsFor(run)).entries()) {
    const { result, cpu, ms } = await withCpu(run, () => answered(run, sql));
    if (result === undefined) continue;
    if (title === "count by status") expectAll(run, result);
    slowestMs = Math.max(slowestMs, ms);
    readings[keyOf(index, "ms")] = ms;
    readings[keyOf(index, "cpu")] = cpu.server * 1e3;
  }
  return { ...readings, slowestMs };
}

/** Throws unless the statement counts at least the invocations that have been called. */
function expectAll({ isShort }: Run, counts: readonly Readonly<Record<string, unknown>>[]): void {
  const of = (status: string): number => Number(counts.find((row) => row["status"] === status)?.["n"] ?? 0);
  const least = isShort ? INVOCATIONS_SHORT : INVOCATIONS;
  if (of("completed") < least || of("suspended") < (isShort ? SUSPENDED / 10 : SUSPENDED))
    throw new Error(`the statement counted ${JSON.stringify(counts)}, with at least ${least} completed`);
}

async function measureCallsBeside(run: Run): Promise<Record<string, number>> {
  const { server, seconds, signal } = run;
  const heavy = STATEMENTS.filter(([title]) => HEAVY.includes(title)).map(([, sql]) => sql);
  const alone = await wrkAnswered(server.ingress, "noop", CONNECTIONS, seconds, { signal });
  let isOver = false;
  const statements = (async () => {
    for (let n = 0; !isOver; n++) await query(server, heavy[n % heavy.length] as string, signal);
  })();
  const beside = await wrkAnswered(server.ingress, "noop", CONNECTIONS, seconds, { signal }).finally(() => {
    isOver = true;
  });
  await statements;
  return { p99: alone.p99, p99Beside: beside.p99 };
}
