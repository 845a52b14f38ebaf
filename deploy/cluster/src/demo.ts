/**
 * A demo of a cluster: one call of each kind through both gateways, a worker that is killed in the middle of a slow invocation which
 * another worker continues, a record of Kafka that becomes an invocation, and a result of the last run.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type DevCluster, KAFKA_CLUSTER, type ServiceProgram } from "@perdure/dev-cluster";
import { beginParty, callEachKind, type Party, result, showOutcome } from "@perdure/example-greeter/demo/scenario";
import { attach, call, get, post, register, type ServerAddresses } from "@perdure/example-greeter/demo/server-api";
import { fact, heading, paint, waitFor } from "@perdure/example-greeter/demo/terminal";
import type { ProcessGroup } from "@perdure/processes";
import { DEMO_MS_MAX, POLL_MS, RESULT_AGE_MS_MAX } from "./limits.js";
import { type ChosenPorts, type LocalClusterSettings, type WorkerPorts, workerPortsOf } from "./settings.js";
import { ensureTopic, writeRecord } from "./topic.js";

const TOPIC = "visits";
const TOPIC_KEY = "kafka";

/** A call of this run whose result the next run requests. */
interface RecordedCall {
  readonly id: string;
  readonly answer: unknown;
  readonly atMs: number;
}

export class ClusterDemo {
  readonly #party: Party;
  readonly #cluster: DevCluster;
  readonly #group: ProcessGroup;
  readonly #ports: ChosenPorts;
  readonly #workerPorts: readonly WorkerPorts[];
  readonly #server: ServerAddresses;
  readonly #memory: string;

  /** `party`: records the steps that the greeter prints. */
  constructor(cluster: DevCluster, group: ProcessGroup, party: Party, settings: LocalClusterSettings) {
    const { ports, directory } = settings;
    this.#cluster = cluster;
    this.#group = group;
    this.#party = party;
    this.#ports = ports;
    this.#workerPorts = workerPortsOf(settings);
    this.#server = { ingress: `http://localhost:${ports.ingress}`, admin: `http://localhost:${ports.admin}` };
    this.#memory = join(directory, "last-run.json");
  }

  /** Whether everything came true. */
  async run(): Promise<boolean> {
    const uri = `http://localhost:${this.#ports.greeter}`;
    const registration = register(this.#server, uri);
    await waitFor("registering the greeter", (names) => `the greeter is registered: ${names.join(", ")}`, registration);
    if (!(await this.#rememberLastRun())) return false;
    await callEachKind(this.#server, this.#party.personName);
    const second = { ...this.#server, ingress: `http://localhost:${this.#ports.secondIngress}` };
    result("Counter/demo/get, other gateway", await call(second, "Counter/demo/get"));
    const goesOn = await this.#killAWorker();
    return goesOn && (await this.#writeARecord());
  }

  async #rememberLastRun(): Promise<boolean> {
    if (!existsSync(this.#memory)) return true;
    const { id, answer, atMs } = JSON.parse(readFileSync(this.#memory, "utf8")) as RecordedCall;
    if (Date.now() - atMs > RESULT_AGE_MS_MAX) return true;
    heading("Data of the last run are there");
    const now = await attach(this.#server, id);
    result(`${id.slice(0, 16)}…, of the last run`, now);
    if (now === answer) return true;
    fact(`it was ${JSON.stringify(answer)}`, "✗");
    return false;
  }

  async #killAWorker(): Promise<boolean> {
    const startedAt = performance.now();
    const id = await beginParty(this.#server, this.#party);
    const victim = await this.#workerWithAttempt();
    const before = this.#party.stored;
    await victim.kill();
    fact(paint("bold", `${victim.name}, which ran it, was killed with SIGKILL and could save nothing`), "✗");
    const goesOn = attach(this.#server, id);
    const answer = await waitFor("the other worker continues", (value) => `answer: ${JSON.stringify(value)}`, goesOn);
    const tookMs = performance.now() - startedAt;
    const later = this.#party.ran.slice(before.length);
    // A step that was running when the worker was killed runs twice: its first result was not stored.
    const lost = later.filter((step, i) => later.indexOf(step) !== i);
    const cameTrue = showOutcome({ before, lost, after: withoutFirst(later, lost) }, tookMs);
    const back = this.#group.startAgain(victim).then(() => victim.ready());
    await waitFor(`starting ${victim.name} again`, () => `${victim.name} is back (process ${victim.pid})`, back);
    writeFileSync(this.#memory, JSON.stringify({ id, answer, atMs: Date.now() } satisfies RecordedCall));
    return cameTrue;
  }

  /** The worker that runs the attempt of the demo, the only one in the cluster. */
  async #workerWithAttempt(): Promise<ServiceProgram> {
    for (const deadline = performance.now() + DEMO_MS_MAX; performance.now() < deadline; await delay(POLL_MS)) {
      for (const [i, worker] of this.#cluster.workers.entries()) {
        const response = await fetch(`http://127.0.0.1:${this.#workerPorts[i]?.probes}/metrics`);
        if (Number(/^perdure_worker_attempts_running (\d+)$/m.exec(await response.text())?.[1] ?? 0) > 0) return worker;
      }
    }
    throw new Error("no worker reports that it runs the invocation");
  }

  async #writeARecord(): Promise<boolean> {
    heading(`A record of the topic '${TOPIC}' becomes an invocation`);
    const brokers = `127.0.0.1:${this.#ports.kafka}`;
    await ensureTopic(brokers, TOPIC);
    await this.#subscribe();
    const path = `Counter/${TOPIC_KEY}/get`;
    const before = (await call(this.#server, path)) as number;
    await writeRecord(brokers, TOPIC, { key: TOPIC_KEY, value: "1" });
    const counted = this.#until(async () => (await call(this.#server, path)) === before + 1);
    await waitFor(
      "the record is handled",
      () => `record ${TOPIC_KEY}=1 was handled by Counter/${TOPIC_KEY}/add: ${before} + 1 = ${before + 1}`,
      counted,
    );
    return true;
  }

  async #subscribe(): Promise<void> {
    const [source, sink] = [`kafka://${KAFKA_CLUSTER}/${TOPIC}`, "service://Counter/add"];
    const { subscriptions } = (await get(`${this.#server.admin}/subscriptions`)) as { subscriptions: { source: string }[] };
    if (subscriptions.some((one) => one.source === source)) {
      fact(`${source} feeds ${sink} since an earlier run`);
      return;
    }
    await post(`${this.#server.admin}/subscriptions`, { source, sink, options: { "auto.offset.reset": "earliest" } });
    fact(`${source} feeds ${sink} from now on`);
  }

  async #until(holds: () => Promise<boolean>): Promise<void> {
    for (const deadline = performance.now() + DEMO_MS_MAX; !(await holds()); await delay(POLL_MS)) {
      if (performance.now() > deadline) throw new Error(`this did not come about in ${DEMO_MS_MAX / 1000} s`);
    }
  }
}

/** `all` without the first occurrence of each of `some`. */
function withoutFirst(all: readonly string[], some: readonly string[]): string[] {
  const rest = [...all];
  for (const one of some) rest.splice(rest.indexOf(one), 1);
  return rest;
}
