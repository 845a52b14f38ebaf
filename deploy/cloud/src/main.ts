/**
 * `make cloud` and `make cloud-down`: `up` runs the whole platform on this machine, runs the demo and stays until Ctrl-C; `down` stops it
 * from another process. `up --once` stops after the demo; `up --bare` runs no demo; `run` is `up` in this process instead of a detached
 * one. Exit code 1 when the demo failed.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fact, heading, line, paint, waitFor } from "@perdure/example-greeter/demo/terminal";
import { stopRuntimesOf } from "@perdure/os-process";
import { isAlive, Record, runApart, STOP_SIGNALS, stopListed } from "@perdure/processes";
import { CloudDemo } from "./demo.js";
import { RunningCloud } from "./running-cloud.js";
import { type CloudSettings, settingsFrom } from "./settings.js";

const USAGE = "usage: main.mjs up|run|down [--once] [--bare]";

process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: { once: { type: "boolean" }, bare: { type: "boolean" } },
    });
    const settings = settingsFrom(process.env);
    switch (positionals[0]) {
      case "up":
        return await runApart(fileURLToPath(import.meta.url), ["run", ...args.filter((arg) => arg !== "up")]);
      case "run":
        return await run(settings, { once: values.once ?? false, bare: values.bare ?? false });
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

async function down(settings: CloudSettings): Promise<number> {
  const record = new Record(settings.directory);
  const alive = record.alive().length;
  const left = await stopRemains(record, settings);
  if (alive === 0 && left.length === 0) {
    line("no cloud is running here");
    return 0;
  }
  line(`the cloud is stopped (${alive} processes); its data stay in ${settings.directory}`);
  if (left.length > 0) line(`left over from a crash: ${left.join(", ")}`);
  return 0;
}

/** Runtimes last: while tenancy runs, it starts them again. Resolves with the names of the programs that had to be stopped here. */
async function stopRemains(record: Record, settings: CloudSettings): Promise<readonly string[]> {
  const left = await stopListed(record);
  return [...left, ...(await stopRuntimesOf(settings.environments))];
}

interface CloudRunOptions {
  readonly once: boolean;
  readonly bare: boolean;
}

async function run(settings: CloudSettings, options: CloudRunOptions): Promise<number> {
  const { directory } = settings;
  mkdirSync(directory, { recursive: true });
  const record = new Record(directory);
  if (record.supervisor !== undefined && isAlive(record.supervisor))
    throw new Error(`a cloud is running in ${directory} already (process ${record.supervisor.pid}); 'make cloud-down' stops it`);
  const left = await stopRemains(record, settings);
  if (left.length > 0) {
    heading("An earlier cloud was not stopped");
    fact(`stopped what was left of it: ${left.join(", ")}`);
  }
  record.add("supervisor", process.pid);

  const interrupted = Promise.withResolvers<"interrupted">();
  for (const signal of STOP_SIGNALS) process.on(signal, () => interrupted.resolve("interrupted"));
  const cloud = new RunningCloud(settings, record, process.env);
  const demo = options.bare ? undefined : new CloudDemo(cloud, settings, record);
  let exitCode = 0;
  try {
    const succeeded = await Promise.race([runDemo(cloud, demo), interrupted.promise]);
    if (succeeded === false) exitCode = 1;
    if (succeeded === true && !options.once) await stayUp(cloud, demo, settings, interrupted.promise);
  } catch (cause) {
    line(`${paint("red", "✗")} ${cause instanceof Error ? cause.message : String(cause)}`);
    exitCode = 1;
  }
  line();
  line(paint("gray", "stopping …"));
  await demo?.stop();
  await cloud.stop();
  record.clear();
  return exitCode;
}

/** Whether the demo succeeded; without one, true when everything runs. */
async function runDemo(cloud: RunningCloud, demo: CloudDemo | undefined): Promise<boolean> {
  await cloud.checkPorts(demo === undefined);
  heading("Perdure: the whole platform on this machine");
  await cloud.start(async (what, done, work) => void (await waitFor(what, () => done, work)));
  return demo === undefined || (await demo.run());
}

async function stayUp(
  cloud: RunningCloud,
  demo: CloudDemo | undefined,
  { directory }: CloudSettings,
  interrupted: Promise<unknown>,
): Promise<void> {
  heading(demo === undefined ? "It stays up:" : "It stays up. Try:");
  for (const command of demo?.invitations() ?? []) line(`  ${command}`);
  if (demo !== undefined) line();
  line(`  console              ${cloud.apiUrl}/${demo === undefined ? "" : `   (${demo.credentials})`}`);
  line(`  Cloud API, sign-up   ${cloud.apiUrl}   ${cloud.apiUrl}/sign-up`);
  line(`  data, logs           ${directory}   ${join(directory, "logs")}`);
  line(paint("gray", "  Ctrl-C or 'make cloud-down' stops everything; the data stay."));
  const stop = new AbortController();
  const watching = cloud.watch(stop.signal, (what) => fact(what, "✗"));
  await Promise.race([interrupted, watching]).finally(() => stop.abort());
  await watching;
}
