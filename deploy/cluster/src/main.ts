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
import { DevCluster, ROOT } from "@perdure/dev-cluster";
import { greeterListens, startGreeter } from "@perdure/example-greeter/demo/greeter-program";
import { Party } from "@perdure/example-greeter/demo/scenario";
import { supervisionMessages } from "@perdure/example-greeter/demo/supervision";
import { heading, line, paint, waitFor } from "@perdure/example-greeter/demo/terminal";
import { ProcessGroup, runApart, type SupervisedPlace, stopSupervised, supervise } from "@perdure/processes";
import { ClusterDemo } from "./demo.js";
import { adviceFor, clusterPortsOf, type LocalClusterSettings, type PortName, settingsFrom } from "./settings.js";

const USAGE = `usage: main.mjs up|run|down [--once] [--bare [--no-kafka]] [--set role[,role]:name=value]…

  up     starts a cluster with the greeter, runs the demo and stays until Ctrl-C
  run    as up, in this process: killing its process group kills the whole cluster
  down   stops the cluster from another process; the data stay

  --once        stops after the demo
  --bare        without greeter and demo; --no-kafka leaves out Kafka as well
  --set         another setting of a role: --set invoker-worker:worker.cleanup-interval=10s

Workers: two, or as many as PERDURE_CLUSTER_WORKERS says (make cluster WORKERS=3).
Which worker leads which partition: perdure cluster status. Logs: the folder logs beside the data, which up prints.`;

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
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help === true) {
      line(USAGE);
      return 0;
    }
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
    supervisionMessages("cluster").failed(cause);
    return 1;
  }
}

function placeOf({ directory }: LocalClusterSettings): SupervisedPlace {
  return {
    what: "cluster",
    directory,
    stopCommand: "make cluster-down",
  };
}

async function down(settings: LocalClusterSettings): Promise<number> {
  const { stopped, leftovers } = await stopSupervised(placeOf(settings));
  if (stopped === 0) {
    line("no cluster is running here");
    return 0;
  }
  line(`the cluster is stopped (${stopped} processes); its data stay in ${settings.directory}`);
  if (leftovers.length > 0) line(`left over from a crash: ${leftovers.join(", ")}`);
  return 0;
}

interface ClusterRunOptions {
  readonly once: boolean;
  readonly bare: boolean;
  readonly withKafka: boolean;
}

function run(settings: LocalClusterSettings, options: ClusterRunOptions): Promise<number> {
  let cluster: DevCluster | undefined;
  const work = {
    run: async (group: ProcessGroup): Promise<boolean> => {
      await checkPorts(settings, options);
      heading("Perdure: a cluster of processes on this machine");
      cluster = await startCluster(settings, group, options);
      return options.bare || (await runDemo(cluster, group, settings));
    },
    ...(options.once ? {} : { onUp: () => showWhatIsUp(settings, options, cluster?.workers[0]?.pid) }),
  };
  return supervise(placeOf(settings), work, supervisionMessages("cluster"));
}

async function checkPorts({ ports, furtherWorkers }: LocalClusterSettings, { bare }: ClusterRunOptions): Promise<void> {
  const names = (Object.keys(ports) as PortName[]).filter((name) => !bare || name !== "greeter");
  const advised = names.map((name) => [name, ports[name], `${adviceFor(name, ports)} make cluster`] as const);
  const further = furtherWorkers.flatMap(({ grpc, probes }, i) =>
    [grpc, probes].map((port) => [`worker${i + 3}`, port, `${adviceFor("worker1", ports)} make cluster`] as const),
  );
  await ProcessGroup.checkPorts([...advised, ...further]);
}

/** All data are below one directory, and the next run uses them again. */
function startCluster(settings: LocalClusterSettings, group: ProcessGroup, options: ClusterRunOptions): Promise<DevCluster> {
  const folder = (name: string): string => {
    const path = join(settings.directory, name);
    mkdirSync(path, { recursive: true });
    return path;
  };
  return DevCluster.start({
    ports: clusterPortsOf(settings, options),
    workers: 2 + settings.furtherWorkers.length,
    directories: { postgres: folder("postgres"), redis: folder("redis"), kafka: folder("kafka") },
    settings: settings.roles,
    // Our own variables are settings of the cluster, not of its roles.
    environment: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PERDURE_"))),
    supervision: {
      group,
      logs: folder("logs"),
      show: async (what, done, work) => void (await waitFor(what, () => done, work)),
    },
  });
}

async function runDemo(cluster: DevCluster, group: ProcessGroup, settings: LocalClusterSettings): Promise<boolean> {
  const party = new Party();
  const { greeter: port } = settings.ports;
  const greeter = await startGreeter({ root: ROOT, port, onLine: (text) => party.recordLine(text) });
  group.keep("greeter", "work", greeter);
  await waitFor("starting the greeter", () => `the greeter listens on port ${port}`, greeterListens(greeter));
  return new ClusterDemo(cluster, group, party, settings).run();
}

function showWhatIsUp(
  { ports, directory }: LocalClusterSettings,
  { bare, withKafka }: ClusterRunOptions,
  workerPid: number | undefined,
): void {
  const json = "-H 'content-type: application/json' -d";
  heading(bare ? "It stays up:" : "It stays up. Try:");
  if (!bare) {
    line(`  curl http://localhost:${ports.ingress}/Greeter/greet ${json} '"Grace"'`);
    line(`  curl http://localhost:${ports.secondIngress}/Counter/demo/add ${json} 5`);
    line(`  kill -9 ${workerPid}   # a worker; it is started again`);
    line();
  }
  line(`  ingress     http://localhost:${ports.ingress}   http://localhost:${ports.secondIngress}`);
  line(`  management  http://localhost:${ports.admin}`);
  line(`  PostgreSQL  postgres://perdure@127.0.0.1:${ports.postgres}/postgres`);
  line(`  Redis       redis://127.0.0.1:${ports.redis}`);
  if (withKafka) line(`  Kafka       127.0.0.1:${ports.kafka}`);
  line(`  data, logs  ${directory}   ${join(directory, "logs")}`);
  line(paint("gray", "  Ctrl-C or 'make cluster-down' stops everything; the data stay."));
}
