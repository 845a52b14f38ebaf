/**
 * What an archived invocation costs: processor time of PostgreSQL and ours, rate of one writer, and bytes on disk with indexes, by the number
 * of invocations in a batch. Each has an Input and an Output of 100 bytes. `docs/operating/scale.md` calculates with it. Linux only: the
 * processor time of PostgreSQL's processes is read from `/proc`.
 *
 * Run: `make microbench FILTER=postgres/bench/archive`.
 */
import { readFileSync } from "node:fs";
import { silentLogger } from "@perdure/base";
import { startPostgres } from "@perdure/servers";
import { MessageType } from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { type Archive, type ArchiveRecord, archiveRecord } from "@perdure/storage";
import pg from "pg";
import { openPostgresArchive } from "../src/index.js";

const BATCHES = [1, 16, 100];
const RECORDS = 4_000;
const LEADER = { partition: 0, epoch: 1 };
/** Of `/proc/<pid>/stat`, behind the name of the program: user and system time in ticks of 10 ms. */
const UTIME_FIELD = 11;
const STIME_FIELD = 12;
const TICK_MICROS = 10_000;

const body = new Uint8Array(100).fill(7);
const entry = (type: number): JournalEntry => ({ type, body, appendedAtMs: 1_795_000_000_000 });
let next = 0;

function newRecord(): ArchiveRecord {
  const facts = someFacts({ id: anId(next++), completionRetentionMs: 60_000, journalRetentionMs: 60_000 });
  const journal = { length: 2, commands: 2, notifications: 0, outputIndex: 1, hasEvents: false };
  return archiveRecord(
    { ...anInvocation("completed", { facts }), journal },
    [entry(MessageType.Input), entry(MessageType.Output)],
    [],
  );
}

/** Processor time of all processes that the server has now. */
async function serverMicros(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity");
  return rows.reduce((sum, { pid }) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return sum + (Number(fields[UTIME_FIELD]) + Number(fields[STIME_FIELD])) * TICK_MICROS;
  }, 0);
}

async function measure(archive: Archive, client: pg.Client, perBatch: number): Promise<void> {
  const batches = Array.from({ length: RECORDS / perBatch }, () => Array.from({ length: perBatch }, newRecord));
  await archive.put(LEADER, [newRecord()]); // Opens the connection.
  const serverBefore = await serverMicros(client);
  const ownBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (const batch of batches) await archive.put(LEADER, batch);
  const seconds = (performance.now() - startedAt) / 1_000;
  const own = process.cpuUsage(ownBefore);
  const server = (await serverMicros(client)) - serverBefore;
  const each = (micros: number): string => (micros / RECORDS).toFixed(0).padStart(5);
  console.log(
    `batches of ${String(perBatch).padStart(3)}: ${(RECORDS / seconds).toFixed(0).padStart(6)} a second, PostgreSQL ${each(server)} µs, worker ${each(own.user + own.system)} µs`,
  );
}

await using server = await startPostgres();
const client = new pg.Client({ connectionString: server.url });
await client.connect();
{
  await using archive = await openPostgresArchive({ url: server.url, environment: "bench" }, silentLogger);
  for (const perBatch of BATCHES) await measure(archive, client, perBatch);
  const { rows } = await client.query<{ bytes: string; records: string }>(
    "SELECT pg_total_relation_size('perdure_archive') AS bytes, count(*) AS records FROM perdure_archive",
  );
  const [row] = rows;
  if (row !== undefined)
    console.log(`${Math.round(Number(row.bytes) / Number(row.records))} bytes on disk for each, with indexes`);
}
await client.end();
