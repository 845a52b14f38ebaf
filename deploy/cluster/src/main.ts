/**
 * `make cluster` and `make cluster-down`: `up` runs a cluster with the greeter on it, runs the demo and stays until Ctrl-C; `down` stops it
 * from another process. `up --once` stops after the demo; `run` is `up` in this process instead of a detached one, and with `--bare`
 * without greeter and demo: killing its process group kills the whole cluster; with `--no-kafka` there is no Kafka. `--set
 * role[,role]:name=value` sets more settings of roles. Exit code 1 when the demo failed.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fact, heading, line, paint, waitFor } from "@perdure/example-greeter/demo/terminal";
import { isAlive, Record, runApart, STOP_SIGNALS, stopListed } from "@perdure/processes";
import { ClusterDemo } from "./demo.js";
import { Greeter } from "./greeter.js";
import { RunningCluster } from "./running-cluster.js";
import { type ClusterPortName, type LocalClusterSettings, settingsFrom } from "./settings.js";

const USAGE = "usage: main.mjs up|run|down [--once] [--bare [--no-kafka]] [--set role[,role]:name=value]…";

process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        once: { type: "boolean" },
        bare: { type: "boolean" },
        "no-kafka": { type: "boolean" },
        set: { type: "string", multiple: true },
      },
    });
    const settings = settingsFrom(process.env, values.set);
    switch (positionals[0]) {
      case "up":
        return await runApart(fileURLToPath(import.meta.url), ["run", ...args.filter((arg) => arg !== "up")]);
      case "run":
        return await run(settings, {
          once: values.once ?? false,
          bare: values.bare ?? false,
          withKafka: !(values.bare === true && values["no-kafka"] === true), // The demo needs it.
        });
      case "down":
        return await down(settings);
      default:
        line(USAGE);
        return 2;
    }
  } catch (cause) {
    line(`${paint("red", "✗")} ${cause instanceof Error ? cause.message : String(cause)}`);
    return 1;
  }
}

async function down({ directory }: LocalClusterSettings): Promise<number> {
  const record = new Record(directory);
  const alive = record.alive().length;
  if (alive === 0) {
    record.clear();
    line("no cluster is running here");
    return 0;
  }
  const left = await stopListed(record);
  line(`the cluster is stopped (${alive} processes); its data stay in ${directory}`);
  if (left.length > 0) line(`left over from a crash: ${left.join(", ")}`);
  return 0;
}

interface ClusterRunOptions {
  readonly once: boolean;
  readonly bare: boolean;
  readonly withKafka: boolean;
}

async function run(settings: LocalClusterSettings, options: ClusterRunOptions): Promise<number> {
  const { directory } = settings;
  mkdirSync(directory, { recursive: true });
  const record = new Record(directory);
  if (record.supervisor !== undefined && isAlive(record.supervisor)) {
    throw new Error(
      `a cluster is running in ${directory} already (process ${record.supervisor.pid}); 'make cluster-down' stops it`,
    );
  }
  if (record.alive().length > 0) {
    heading("An earlier cluster was not stopped");
    fact(`stopped what was left of it: ${(await stopListed(record)).join(", ")}`);
  }
  record.clear();
  record.add("supervisor", process.pid);

  const interrupted = Promise.withResolvers<"interrupted">();
  for (const signal of STOP_SIGNALS) process.on(signal, () => interrupted.resolve("interrupted"));
  const cluster = new RunningCluster(settings, record, process.env);
  const greeter = options.bare ? undefined : new Greeter(settings, record);
  let exitCode = 0;
  try {
    const succeeded = await Promise.race([runDemo(cluster, greeter, settings, options), interrupted.promise]);
    if (succeeded === false) exitCode = 1;
    if (succeeded === true && !options.once) await stayUp(cluster, settings, options, interrupted.promise);
  } catch (cause) {
    line(`${paint("red", "✗")} ${cause instanceof Error ? cause.message : String(cause)}`);
    exitCode = 1;
  }
  line();
  line(paint("gray", "stopping …"));
  await cluster.stop();
  await greeter?.stop();
  record.clear();
  return exitCode;
}

/** Whether the demo succeeded; true when there is none, without greeter. */
async function runDemo(
  cluster: RunningCluster,
  greeter: Greeter | undefined,
  settings: LocalClusterSettings,
  options: ClusterRunOptions,
): Promise<boolean> {
  const { ports, directory } = settings;
  const all = Object.keys(ports) as ClusterPortName[];
  await cluster.checkPorts(greeter === undefined ? all.filter((name) => name !== "greeter") : all);
  heading("Perdure: a cluster of processes on this machine");
  await cluster.start(async (what, done, work) => void (await waitFor(what, () => done, work)), options);
  if (greeter === undefined) return true;
  const demo = new ClusterDemo(cluster, ports, directory);
  await greeter.start((text) => demo.party.recordLine(text));
  return demo.run();
}

async function stayUp(
  cluster: RunningCluster,
  { ports, directory }: LocalClusterSettings,
  { bare, withKafka }: ClusterRunOptions,
  interrupted: Promise<unknown>,
): Promise<void> {
  const json = "-H 'content-type: application/json' -d";
  heading(bare ? "It stays up:" : "It stays up. Try:");
  if (!bare) {
    line(`  curl http://localhost:${ports.ingress}/Greeter/greet ${json} '"Grace"'`);
    line(`  curl http://localhost:${ports.secondIngress}/Counter/demo/add ${json} 5`);
    line(`  kill -9 ${cluster.workers[0]?.pid}   # a worker; it is started again`);
    line();
  }
  line(`  ingress     http://localhost:${ports.ingress}   http://localhost:${ports.secondIngress}`);
  line(`  management  http://localhost:${ports.admin}`);
  line(`  PostgreSQL  postgres://perdure@127.0.0.1:${ports.postgres}/postgres`);
  line(`  Redis       redis://127.0.0.1:${ports.redis}`);
  if (withKafka) line(`  Kafka       127.0.0.1:${ports.kafka}`);
  line(`  data, logs  ${directory}   ${join(directory, "logs")}`);
  line(paint("gray", "  Ctrl-C or 'make cluster-down' stops everything; the data stay."));
  const stop = new AbortController();
  const watching = cluster.watch(stop.signal, (what) => fact(what, "✗"));
  await Promise.race([interrupted, watching]).finally(() => stop.abort());
  await watching;
}
