/**
 * What a thread of `perdure server` costs and gives: `make build`, then
 * `node_modules/node/bin/node libs/testing/conformance/bench/run.mjs threads`.
 *
 * For each number of threads a fresh server gets 64 connections for each of its threads, with the Rust endpoint, in alternating rounds; the
 * medians are printed. On a machine with few processors the throughput is that of the machine, with the load generator and the endpoint.
 * So two ratios are computed from processor time, which says what more processors would do:
 *
 *     all        invocations for the same processor time of the whole server, as a share of those with one thread; × threads = speed-up
 *                when every thread has as many processors as one alone uses
 *     leading    speed-up when the threads that lead partitions are the limit: time of the only one / time of the busiest
 *
 * THREADS="1 2 4 8", SECONDS=8 for each measurement, ROUNDS=3, WORKLOADS="noop counter". The warm-up takes as long for each thread as it
 * does for one, because each compiles its own code. Traffic goes to 127.0.0.1 only.
 */
import { readdirSync, readFileSync } from "node:fs";
import { Endpoint } from "./harness/endpoints.js";
import { median, perInvocationUs, table } from "./harness/figures.js";
import { Server } from "./harness/servers.js";
import { WORKLOADS, type WorkloadName, wrkAnswered } from "./harness/wrk.js";

const listOf = (variable: string, fallback: string): string[] => (process.env[variable] ?? fallback).split(" ");

const THREADS = listOf("THREADS", "1 2 4 8").map(Number);
const NAMES = listOf("WORKLOADS", "noop counter") as WorkloadName[];
const SECONDS = Number(process.env["SECONDS"] ?? 8);
const ROUNDS = Number(process.env["ROUNDS"] ?? 3);
const WARM_SECONDS = 5;
const CONNECTIONS = 64;

interface Measured {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Processor time per invocation: of the whole server, and of the busiest thread that leads partitions. */
  readonly allUs: number;
  readonly leadingUs: number;
}

/** Seconds of each thread of a process so far, by its id. */
function threadSeconds(pid: number): ReadonlyMap<string, { readonly name: string; readonly seconds: number }> {
  const read = (id: string, file: string): string => readFileSync(`/proc/${pid}/task/${id}/${file}`, "utf8");
  return new Map(
    readdirSync(`/proc/${pid}/task`).map((id) => [
      id,
      { name: read(id, "comm").trim(), seconds: Number(read(id, "schedstat").split(" ")[0]) / 1e9 },
    ]),
  );
}

async function measure(workload: WorkloadName, threads: number, endpoint: Endpoint): Promise<Measured> {
  await using server = await Server.create("perdure", undefined, { PERDURE_WORKER__THREADS: String(threads) });
  await server.start();
  await server.register(endpoint.uri);
  const connections = CONNECTIONS * threads;
  await wrkAnswered(server.ingress, workload, connections, WARM_SECONDS * threads);
  const before = threadSeconds(server.pid);
  const { requests, perSecond, p50, p99 } = await wrkAnswered(server.ingress, workload, connections, SECONDS);
  const spent = [...threadSeconds(server.pid)].map(([id, { name, seconds }]) => ({
    isLeading: name === "MainThread" || name.startsWith("shard "),
    seconds: seconds - (before.get(id)?.seconds ?? 0),
  }));
  const all = spent.reduce((sum, { seconds }) => sum + seconds, 0);
  const leading = Math.max(...spent.filter(({ isLeading }) => isLeading).map(({ seconds }) => seconds));
  return { perSecond, p50, p99, allUs: perInvocationUs(all, requests), leadingUs: perInvocationUs(leading, requests) };
}

const medians = (rounds: readonly Measured[]): Measured => {
  const of = (key: keyof Measured): number => median(rounds.map((each) => each[key]));
  return { perSecond: of("perSecond"), p50: of("p50"), p99: of("p99"), allUs: of("allUs"), leadingUs: of("leadingUs") };
};

using endpoint = await Endpoint.start("rust");
for (const workload of NAMES) {
  const measuredOf = new Map<number, Measured[]>(THREADS.map((threads) => [threads, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const threads of round % 2 === 0 ? THREADS : THREADS.toReversed()) {
      const measured = await measure(workload, threads, endpoint);
      measuredOf.get(threads)?.push(measured);
      console.error(
        `${workload}, ${threads} threads, round ${round + 1} of ${ROUNDS}: ${measured.perSecond.toFixed(0)} per second`,
      );
    }
  }
  const rows = [...measuredOf].map(([threads, rounds]) => [threads, medians(rounds)] as const);
  const one = rows.find(([threads]) => threads === 1)?.[1];
  const ratio = (mine: number, alone: number | undefined): string => (alone === undefined ? "–" : (alone / mine).toFixed(2));
  console.log(`\n${WORKLOADS[workload].title}, ${CONNECTIONS} connections for each thread\n`);
  console.log(
    table(
      ["threads", "requests/s", "p50 ms", "p99 ms", "CPU µs", "all", "CPU µs of the busiest", "leading"],
      rows.map(([threads, { perSecond, p50, p99, allUs, leadingUs }]) => [
        String(threads),
        perSecond.toFixed(0),
        p50.toFixed(1),
        p99.toFixed(1),
        allUs.toFixed(0),
        ratio(allUs, one?.allUs),
        leadingUs.toFixed(0),
        ratio(leadingUs, one?.leadingUs),
      ]),
    ),
  );
}
