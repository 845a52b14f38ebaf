/**
 * `make cloud` and `make cloud-down`: `up` runs the whole platform on this machine, runs the demo and stays until Ctrl-C; `down` stops it
 * from another process. `up --once` stops after the demo; `up --bare` runs no demo; `run` is `up` in this process instead of a detached
 * one. Exit code 1 when the demo failed.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DevCloud } from "@perdure/dev-cluster";
import { supervisionMessages } from "@perdure/example-greeter/demo/supervision";
import { heading, line, paint, waitFor } from "@perdure/example-greeter/demo/terminal";
import { stopRuntimesOf } from "@perdure/os-process";
import { ProcessGroup, runApart, type SupervisedPlace, stopSupervised, supervise } from "@perdure/processes";
import { CloudDemo } from "./demo.js";
import { adviceFor, type CloudSettings, cloudPortsOf, DEMO_PORTS, type PortName, settingsFrom } from "./settings.js";

const USAGE = `usage: main.mjs up|run|down [--once] [--bare]

  up     starts the whole platform, runs the demo and stays until Ctrl-C
  run    as up, in this process
  down   stops the platform from another process; the data stay

  --once   stops after the demo
  --bare   without the demo`;

process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: { once: { type: "boolean" }, bare: { type: "boolean" }, help: { type: "boolean", short: "h" } },
    });
    if (values.help === true) {
      line(USAGE);
      return 0;
    }
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
    supervisionMessages("cloud").failed(cause);
    return 1;
  }
}

function placeOf({ directory }: CloudSettings): SupervisedPlace {
  return {
    what: "cloud",
    directory,
    stopCommand: "make cloud-down",
    // Runtimes outlive tenancy, which starts them again while it runs.
    stopOthers: () => stopRuntimesOf(join(directory, "environments")),
  };
}

async function down(settings: CloudSettings): Promise<number> {
  const { stopped, leftovers } = await stopSupervised(placeOf(settings));
  if (stopped === 0 && leftovers.length === 0) {
    line("no cloud is running here");
    return 0;
  }
  line(`the cloud is stopped (${stopped} processes); its data stay in ${settings.directory}`);
  if (leftovers.length > 0) line(`left over from a crash: ${leftovers.join(", ")}`);
  return 0;
}

interface CloudRunOptions {
  readonly once: boolean;
  readonly bare: boolean;
}

function run(settings: CloudSettings, { once, bare }: CloudRunOptions): Promise<number> {
  let demo: CloudDemo | undefined;
  const work = {
    run: async (group: ProcessGroup): Promise<boolean> => {
      await checkPorts(settings, bare);
      heading("Perdure: the whole platform on this machine");
      const cloud = await startCloud(settings, group);
      if (bare) return true;
      demo = new CloudDemo(cloud.apiUrl, settings, group);
      return demo.run();
    },
    ...(once ? {} : { onUp: () => showWhatIsUp(settings, demo) }),
  };
  return supervise(placeOf(settings), work, supervisionMessages("cloud"));
}

/** The ports of the demo are not checked without it. */
async function checkPorts({ ports }: CloudSettings, isBare: boolean): Promise<void> {
  const names = (Object.keys(ports) as PortName[]).filter((name) => !isBare || !DEMO_PORTS.includes(name));
  await ProcessGroup.checkPorts(names.map((name) => [name, ports[name], `${adviceFor(name, ports)} make cloud`] as const));
}

/** All data are below one directory, and the next run uses them again. */
function startCloud(settings: CloudSettings, group: ProcessGroup): Promise<DevCloud> {
  const { directory, runtimeConfigFile } = settings;
  const logs = join(directory, "logs");
  for (const folder of [join(directory, "postgres"), logs]) mkdirSync(folder, { recursive: true });
  return DevCloud.start({
    directory,
    ports: cloudPortsOf(settings),
    // Our own variables are settings of the cloud, not of its programs.
    environment: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PERDURE_"))),
    runtimeConfigFile,
    supervision: { group, logs, show: async (what, done, work) => void (await waitFor(what, () => done, work)) },
  });
}

function showWhatIsUp({ ports, directory }: CloudSettings, demo: CloudDemo | undefined): void {
  const apiUrl = `http://localhost:${ports.api}`;
  heading(demo === undefined ? "It stays up:" : "It stays up. Try:");
  for (const command of demo?.invitations() ?? []) line(`  ${command}`);
  if (demo !== undefined) line();
  line(`  console              ${apiUrl}/${demo === undefined ? "" : `   (${demo.credentials})`}`);
  line(`  Cloud API, sign-up   ${apiUrl}   ${apiUrl}/sign-up`);
  line(`  data, logs           ${directory}   ${join(directory, "logs")}`);
  line(paint("gray", "  Ctrl-C or 'make cloud-down' stops everything; the data stay."));
}
