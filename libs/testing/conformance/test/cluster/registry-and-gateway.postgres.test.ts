/** Registries and gateways as real processes, with a database that comes and goes; workers are played in this process. */

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type DeploymentId, PerdureError, silentLogger, systemClock } from "@perdure/base";
import type { ServiceProgram } from "@perdure/dev-cluster";
import { openChannel, openRemoteRegistry, type RemoteRegistry } from "@perdure/grpc";
import { aManifest, aWireService, startEndpoint, type TestEndpoint } from "@perdure/registry/testing";
import { freePorts } from "@perdure/servers";
import { eventually } from "../../src/index.js";
import { probe, registration, TestCluster } from "./setup.js";

const SECOND_MS = 1000;
const signal = (): AbortSignal => AbortSignal.timeout(20_000);

let cluster: TestCluster;
let one: ServiceProgram;
let two: ServiceProgram;
let gateway: ServiceProgram;
let registryOne: Awaited<ReturnType<TestCluster["registrySettings"]>>;
let registryTwo: Awaited<ReturnType<TestCluster["registrySettings"]>>;
let remote: RemoteRegistry;
let ingress: string;
/** Unfinished invocations of any deployment, as the worker reports them. */
let pinned = 0;

beforeAll(async () => {
  cluster = await TestCluster.start({ countUsage: async () => ({ pinned, unfinishedByService: new Map() }) });
  registryOne = await cluster.registrySettings();
  registryTwo = await cluster.registrySettings();
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

async function anEndpoint(...services: readonly string[]): Promise<TestEndpoint> {
  return cluster.use(await startEndpoint("h2c", { body: aManifest(services.map((name) => aWireService(name, ["greet"]))) }));
}

function connect(settings: { readonly "grpc.bind-port": number }[]): RemoteRegistry {
  const channels = settings.map((each) => openChannel(`127.0.0.1:${each["grpc.bind-port"]}`, undefined));
  const connected = openRemoteRegistry({ channels, clock: systemClock, logger: silentLogger }, { withRecords: true });
  cluster.use({
    async [Symbol.asyncDispose]() {
      connected.close();
      for (const channel of channels) channel.close();
    },
  });
  return connected;
}

async function call(service: string): Promise<number> {
  const answer = await fetch(`${ingress}${service}/greet`, {
    method: "POST",
    body: '"x"',
    headers: { "content-type": "application/json" },
  });
  await answer.arrayBuffer();
  return answer.status;
}

describe("a registry", () => {
  test("that is started before its database waits for it, says so, and gets ready by itself", async () => {
    await cluster.postgres.stop();
    one = await cluster.launch({ service: "registry", settings: registryOne });
    const port = registryOne["probes.bind-port"];
    const waiting = await eventually("it reports the pending condition", async () => {
      const answer = await probe(port);
      return answer?.text.includes("database") === true ? answer : undefined;
    });
    expect(waiting.status).toBe(503);
    expect(await probe(port, "/livez")).toMatchObject({ status: 200 });
    await cluster.postgres.startAgain();
    await one.ready();
    expect(await probe(port)).toEqual({ status: 200, text: "ready\n" });
    expect((await probe(port, "/metrics"))?.text).toContain("perdure_build_info");
  }, 60_000);

  test("takes registrations, and the gateway serves what was registered within a second", async () => {
    two = await cluster.launch({ service: "registry", settings: registryTwo });
    await two.ready();
    gateway = await cluster.launch({ service: "ingress-gateway", settings: cluster.gatewaySettings([registryTwo, registryOne]) });
    ingress = (await gateway.ready())["ingress"] as string;
    expect(await call("Greeter")).toBe(404);

    remote = connect([registryOne]);
    await remote.ready;
    const endpoint = await anEndpoint("Greeter");
    const outcome = await remote.register(registration(endpoint.uri), signal());
    expect(outcome.kind).toBe("created");
    // The gateway watches the other registry: the change event goes through the database.
    await eventually("the gateway has the service", async () => (await call("Greeter")) === 200, SECOND_MS);

    // Both report the same for stored objects; the test watches one, the gateway the other, and one fires schedules.
    await eventually("the metrics show it", async () => {
      const texts = await Promise.all(
        [registryOne, registryTwo].map(async (each) => (await probe(each["probes.bind-port"], "/metrics"))?.text ?? ""),
      );
      const sample = (name: string) => {
        const start = `perdure_registry_${name} `;
        return texts.map((text) =>
          text
            .split("\n")
            .find((line) => line.startsWith(start))
            ?.slice(start.length),
        );
      };
      return (
        sample('entities{kind="service"}').join() === "1,1" &&
        sample('entities{kind="deployment"}').join() === "1,1" &&
        // A gateway whose request to one registry timed out uses the other.
        sample("watchers").reduce((sum, each) => sum + Number(each), 0) === 2 &&
        sample("leading").toSorted().join() === "0,1"
      );
    });
  }, 60_000);

  test("takes no more than the plan of its environment allows", async () => {
    const bounded = await cluster.registrySettings({ "limits.services": 1 });
    const program = await cluster.launch({ service: "registry", settings: bounded });
    await program.ready();
    const theirs = connect([bounded]);
    await theirs.ready;
    const endpoint = await anEndpoint("OneTooMany");
    await expect(theirs.register(registration(endpoint.uri), signal())).rejects.toMatchObject({ code: "TEN0002", status: 403 });
    await program.stop();
  }, 60_000);

  test("continues without its database with what it knows, refuses changes with a clear message, and recovers by itself", async () => {
    await cluster.postgres.kill();
    const fresh = connect([registryOne]);
    await fresh.ready;
    expect(fresh.services()).toHaveLength(1);
    const endpoint = await anEndpoint("Late");
    const refusal = await fresh.register(registration(endpoint.uri), signal()).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(refusal).toBeInstanceOf(PerdureError);
    expect(refusal).toMatchObject({ code: "STO0001", detail: expect.stringContaining("the database failed") });
    expect(await call("Greeter")).toBe(200);
    expect(await probe(registryOne["probes.bind-port"], "/livez")).toMatchObject({ status: 200 });

    await cluster.postgres.startAgain();
    await eventually(
      "changes are accepted again",
      async () => (await fresh.register(registration(endpoint.uri), signal())).kind === "created",
    );
    await eventually("the gateway has the service", async () => (await call("Late")) === 200);
  }, 60_000);

  test("that is killed leaves gateways working; they follow another, and itself when it is back", async () => {
    await Promise.all([one.kill(), two.kill()]);
    expect(await call("Greeter")).toBe(200);
    await one.startAgain();
    await one.ready();
    const again = connect([registryOne]);
    await again.ready;
    const endpoint = await anEndpoint("After");
    await again.register(registration(endpoint.uri), signal());
    await eventually("the gateway follows the registry that is there", async () => (await call("After")) === 200);
    await two.startAgain();
    await two.ready();
  }, 60_000);

  test("keeps a deployment that has unfinished invocations, as workers report", async () => {
    const client = connect([registryOne]);
    await client.ready;
    const last = client.deployments().at(-1)?.id as DeploymentId;
    pinned = 1;
    await expect(client.remove(last, false)).rejects.toMatchObject({ status: 409 });
    pinned = 0;
    await client.remove(last, false);
    expect(client.deployment(last)).toBeUndefined();
  }, 60_000);
});

describe("schedules", () => {
  test("fire from one registry of several, and from another when that is killed", async () => {
    const [first, second] = [connect([registryOne]), connect([registryTwo])];
    await Promise.all([first.ready, second.ready]);
    const schedule = await first.schedules.create(
      {
        name: "often",
        description: undefined,
        cron: "@every 1s",
        zone: "UTC",
        jitterMs: 0,
        startAtMs: undefined,
        endAtMs: undefined,
        firingsMax: undefined,
        target: {
          service: "Greeter",
          handler: "greet",
          key: undefined,
          scope: undefined,
          limitKey: undefined,
          priority: undefined,
        },
        payload: { base64: "", contentType: undefined },
        headers: {},
        overlap: { kind: "allow" },
        catchUp: { kind: "none" },
      },
      false,
    );
    const { id } = schedule.record;
    const fired = async (client: RemoteRegistry) => (await client.schedules.get(id))?.state.firedCount ?? 0;
    await eventually("it fires", async () => (await fired(first)) >= 2);
    await eventually("the other registry has fired it", async () => (await fired(second)) >= 2);
    expect((await second.schedules.list()).map(({ record }) => record.name)).toEqual(["often"]);

    const leads = ({ lines }: ServiceProgram) => lines.some((line) => line.includes("this process leads now"));
    const [leader, heir, heirsClient] = leads(one) ? [one, two, second] : [two, one, first];
    expect([leads(one), leads(two)].filter(Boolean)).toHaveLength(1);
    await leader.kill();
    const before = await fired(heirsClient);
    await eventually("the heir leads", () => leads(heir));
    await eventually("it continues", async () => (await fired(heirsClient)) >= before + 2);
    const paused = await heirsClient.schedules.pause(id);
    expect(paused.state.isPaused).toBe(true);
    await heirsClient.schedules.remove(id, undefined);
    expect(await heirsClient.schedules.get(id)).toBeUndefined();
    await expect(heirsClient.schedules.remove(id, undefined)).rejects.toMatchObject({ status: 404 });
    await leader.startAgain();
    await leader.ready();
  }, 60_000);
});

describe("processes that get SIGTERM", () => {
  test("exit with 0, the gateway after it answered waiting callers", async () => {
    cluster.worker.invoker.isHolding = true;
    const waiting = call("Greeter");
    await eventually("the call is under way", () => cluster.worker.processor.counters.commands > 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const stopped = gateway.stop();
    await new Promise((resolve) => setTimeout(resolve, 200));
    cluster.worker.invoker.letGo();
    expect(await waiting).toBe(200);
    expect(await stopped).toMatchObject({ code: 0 });
    expect(await Promise.all([one.stop(), two.stop()])).toMatchObject([{ code: 0 }, { code: 0 }]);
  }, 60_000);

  test("end also while they wait for what is not there", async () => {
    const settings = await cluster.registrySettings({ "metadata.postgres-url": "postgres://nobody@127.0.0.1:1/none" });
    const waiting = await cluster.launch({ service: "registry", settings });
    const [port] = (await freePorts(1)) as [number];
    const alone = cluster.gatewaySettings([settings], { "probes.bind-port": port });
    const lonely = await cluster.launch({ service: "ingress-gateway", settings: alone });
    for (const each of [settings["probes.bind-port"], port]) {
      await eventually("it waits", async () => (await probe(each))?.status === 503);
    }
    expect(await Promise.all([waiting.stop(), lonely.stop()])).toMatchObject([{ code: 0 }, { code: 0 }]);
  }, 60_000);
});
