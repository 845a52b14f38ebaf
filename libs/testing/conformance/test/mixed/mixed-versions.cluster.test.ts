/**
 * Processes of the previous and the current build in one cluster, through a rolling upgrade and back, under load: accepted work ends once,
 * steps keep their values, and counters are exact. Every process is killed once while the others are of the other build, so each build
 * continues with data and messages of the other one.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { DevCluster, type LocalRole, type ServiceProgram } from "@perdure/dev-cluster";
import { SeededRandom } from "@perdure/testkit";
import { ChaosLoad } from "../../src/chaos/load.js";
import { HandlerRecord } from "../../src/chaos/record.js";
import { chaosServices } from "../../src/chaos/services.js";
import { eventually, SdkEndpoint, TestAdminClient } from "../../src/index.js";
import { unpackPreviousBuild } from "./previous-build.js";

const TEST_MS = 400_000;
const STEP_MS = 60_000;
const CALLERS = 24;
/** Answers between two changes: everything that callers do is done some times. */
const ANSWERS = 60;

let directory: string;
let previous: Readonly<Record<LocalRole, string>>;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "perdure-previous-"));
  previous = unpackPreviousBuild(directory);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Build = "previous" | "present";

/** A cluster under load whose processes can be replaced by those of another build. */
class Mixed implements AsyncDisposable {
  readonly cluster: DevCluster;
  readonly load: ChaosLoad;
  #owned = new AsyncDisposableStack();

  private constructor(cluster: DevCluster, load: ChaosLoad) {
    this.cluster = cluster;
    this.load = load;
  }

  static async start(build: Build): Promise<Mixed> {
    await using owned = new AsyncDisposableStack();
    const record = new HandlerRecord();
    const random = new SeededRandom(48);
    const endpoint = owned.use(await SdkEndpoint.start({ services: chaosServices(record) }));
    const bundles = build === "previous" ? previous : {};
    const cluster = owned.use(await DevCluster.start({ workers: 2, gateways: 1, bundles }));
    using admin = new TestAdminClient(cluster.adminUrl);
    await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), STEP_MS);
    const load = owned.use(new ChaosLoad({ gateways: cluster.ingressUrls, record, random, callers: CALLERS }));
    load.start();
    const mixed = new Mixed(cluster, load);
    await mixed.progress("the load has begun");
    mixed.#owned = owned.move();
    return mixed;
  }

  get workers(): readonly [ServiceProgram, ServiceProgram] {
    return this.cluster.workers as [ServiceProgram, ServiceProgram];
  }

  get gateway(): ServiceProgram {
    return this.cluster.gateways[0] as ServiceProgram;
  }

  /** Resolves when callers have got more answers. */
  async progress(when: string): Promise<void> {
    const { counts } = this.load;
    const before = counts.answers;
    await eventually(`callers are answered: ${when}`, () => counts.answers > before + ANSWERS, STEP_MS);
    expect([when, ...this.load.violations]).toEqual([when]);
  }

  /** `stop` ends it in order, `kill` with SIGKILL; it starts again as a process of the build. */
  async exchange(how: "stop" | "kill", role: LocalRole, program: ServiceProgram, build: Build): Promise<void> {
    this.load.excuse();
    await program[how]();
    program.useBundle(build === "previous" ? previous[role] : undefined);
    await program.startAgain();
    await program.ready();
    this.load.excuse();
    await this.progress(`${role} is of the ${build} build`);
  }

  /** Everything that was accepted has ended, once. */
  async finish(): Promise<void> {
    await this.load.stop();
    await this.load.check();
    expect(this.load.violations).toEqual([]);
    expect(this.load.counts.promised).toBeGreaterThan(0);
    using admin = new TestAdminClient(this.cluster.adminUrl);
    await eventually(
      "nothing is unfinished",
      async () => (await admin.query("select id from sys_invocation where status <> 'completed'")).length === 0,
      STEP_MS,
    );
  }

  /** After a failure, callers end when they have waited long enough for a cluster that is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.load.stop();
    await this.#owned.disposeAsync();
    await stopped;
  }
}

test(
  "a cluster of the build before is upgraded one process at a time and taken back, and nothing is lost or doubled",
  async () => {
    await using mixed = await Mixed.start("previous");
    const { workers, gateway, cluster } = mixed;
    // Worker and worker: each leads on with what the other one stored.
    await mixed.exchange("stop", "invoker-worker", workers[0], "present");
    await mixed.exchange("kill", "invoker-worker", workers[1], "previous");
    await mixed.exchange("kill", "invoker-worker", workers[0], "present");
    // Gateway and worker, registry and worker, each of another build.
    await mixed.exchange("kill", "ingress-gateway", gateway, "present");
    await mixed.exchange("kill", "registry", cluster.registry, "present");
    await mixed.exchange("stop", "invoker-worker", workers[1], "present");
    await mixed.exchange("stop", "admin-api", cluster.admin, "present");
    // And back, in the other order.
    await mixed.exchange("stop", "admin-api", cluster.admin, "previous");
    await mixed.exchange("kill", "invoker-worker", workers[1], "previous");
    await mixed.exchange("stop", "registry", cluster.registry, "previous");
    await mixed.exchange("stop", "ingress-gateway", gateway, "previous");
    await mixed.exchange("kill", "invoker-worker", workers[0], "previous");
    await mixed.finish();
  },
  TEST_MS,
);

test(
  "processes of the build before join a cluster that the present build began",
  async () => {
    await using mixed = await Mixed.start("present");
    const { workers, gateway, cluster } = mixed;
    await mixed.exchange("stop", "registry", cluster.registry, "previous");
    await mixed.exchange("kill", "invoker-worker", workers[1], "previous");
    await mixed.exchange("stop", "ingress-gateway", gateway, "previous");
    await mixed.exchange("kill", "invoker-worker", workers[0], "present");
    await mixed.finish();
  },
  TEST_MS,
);
