/** Two of each that keeps no partitions: registries and management APIs share their work, and one of them is enough. */

import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  adminSettings,
  DevCluster,
  type LocalCluster,
  registrySettings,
  ServiceProgram,
  workerSettings,
} from "@perdure/dev-cluster";
import { freePorts } from "@perdure/servers";
import { type Context, service } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { probe } from "./setup.js";

const WHOLE_TEST_MS = 400_000;
const LONG_MS = 120_000;
/** Registrations, each of which is called at once. */
const REGISTRATIONS = 20;
const CALLS = 600;

const done = service({ name: "Done", handlers: { work: async (_ctx: Context) => "done" } });
const echoOf = (name: string) => service({ name, handlers: { echo: async (_ctx: Context, text: string) => text } });

let cluster: DevCluster;
let addresses: LocalCluster;
let registries: readonly [ServiceProgram, ServiceProgram];
let admins: readonly [TestAdminClient, TestAdminClient];
let adminPrograms: readonly [ServiceProgram, ServiceProgram];
let ingresses: readonly TestIngressClient[];
const things: AsyncDisposable[] = [];
const use = <T extends AsyncDisposable>(thing: T): T => {
  things.push(thing);
  return thing;
};
const at = (port: number | undefined): string => `127.0.0.1:${port}`;
const urlOf = (text: string | undefined): string => (text ?? "").replace("localhost", "127.0.0.1").replace(/\/$/, "");

beforeAll(async () => {
  const [one, two, workerPort, adminTwo] = (await freePorts(4)) as [number, number, number, number];
  const both = { "registry.addresses": `127.0.0.1:${one},127.0.0.1:${two}` };
  const turned = { "registry.addresses": `127.0.0.1:${two},127.0.0.1:${one}` };
  cluster = use(
    await DevCluster.start({
      workers: 1,
      workerSettings: { "grpc.bind-port": workerPort, "advertised-address": `127.0.0.1:${workerPort}` },
      settings: {
        registry: { "grpc.bind-port": one, "worker.addresses": `127.0.0.1:${workerPort}` },
        "admin-api": { ...both, "worker.addresses": `127.0.0.1:${workerPort}` },
        "invoker-worker": both,
        "ingress-gateway": { ...both, "worker.addresses": `127.0.0.1:${workerPort}` },
      },
    }),
  );
  addresses = { postgresUrl: cluster.postgres.url, redisUrl: cluster.redis.url, registryPort: two, workerPorts: [workerPort] };
  const registryTwo = use(
    await ServiceProgram.launch({ service: "registry", settings: registrySettings(addresses, { probes: 0 }) }),
  );
  const second = { ...adminSettings(addresses, { admin: adminTwo, ingress: 1 }), ...turned };
  const adminTwoProgram = use(await ServiceProgram.launch({ service: "admin-api", settings: second }));
  await Promise.all([registryTwo.ready(), adminTwoProgram.ready()]);
  registries = [cluster.registry, registryTwo];
  adminPrograms = [cluster.admin, adminTwoProgram];
  admins = [new TestAdminClient(cluster.adminUrl), new TestAdminClient(`http://127.0.0.1:${adminTwo}`)];
  ingresses = cluster.ingressUrls.map((url) => new TestIngressClient(url));
}, WHOLE_TEST_MS);
afterAll(async () => {
  for (const client of [...admins, ...ingresses]) client[Symbol.dispose]();
  for (const thing of things.toReversed()) await thing[Symbol.asyncDispose]();
}, WHOLE_TEST_MS);

const serve = async (name: string): Promise<SdkEndpoint> =>
  use(await SdkEndpoint.start({ services: [echoOf(name)], kind: "h2-bidi" }));
/** What each gateway answers: the body when it called the service, else status and body. */
const answersOf = async (name: string): Promise<readonly string[]> => {
  const answers = await Promise.all(ingresses.map((ingress) => ingress.call([name, "echo"], "x")));
  return answers.map(({ status, text }) => (status === 200 ? "called" : `${status} ${text}`));
};
const isCallable = async (name: string): Promise<boolean> => (await answersOf(name)).every((answer) => answer === "called");

describe("what is registered", () => {
  test(
    "can be called through every gateway by the next request, whichever registry took it",
    async () => {
      for (let n = 0; n < REGISTRATIONS; n++) {
        const endpoint = await serve(`Fresh${n}`);
        await (admins[n % 2] as TestAdminClient).register({ uri: endpoint.url });
        expect([n, ...(await answersOf(`Fresh${n}`))]).toEqual([n, "called", "called"]);
      }
    },
    WHOLE_TEST_MS,
  );

  test(
    "is one revision after the other and nothing twice when both registries are called at once",
    async () => {
      const endpoints = await Promise.all(Array.from({ length: 10 }, () => serve("Shared")));
      const registrations = await Promise.all(
        endpoints.flatMap(({ url }) => admins.map((admin) => admin.tryRegister({ uri: url }))), // Each destination through both.
      );
      expect(registrations.map(({ status }) => status).sort()).toEqual([...Array(10).fill(201), ...Array(10).fill(409)]);
      const revisions = registrations
        .filter(({ status }) => status === 201)
        .flatMap(({ json }) => (json as { services: { revision: number }[] }).services.map(({ revision }) => revision));
      expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, n) => n + 1));
      // Each management API has what it answered itself; what the other one answered comes a moment later.
      await eventually("both show the newest revision", async () => {
        const shown = await Promise.all(admins.map(async (admin) => (await admin.get("/services/Shared")).json));
        return isDeepStrictEqual(shown[0], shown[1]) && (shown[0] as { revision: number }).revision === 10;
      });
    },
    WHOLE_TEST_MS,
  );

  test(
    "stays callable while the database is away, and new registrations are 503 with a code until it is back",
    async () => {
      const endpoint = await serve("Later");
      await cluster.postgres.kill();
      expect(await isCallable("Fresh0")).toBe(true);
      const refused = await admins[0].tryRegister({ uri: endpoint.url });
      expect([refused.status, refused.json]).toMatchObject([503, { restate_code: "STO0001" }]);
      await cluster.postgres.startAgain();
      await eventually(
        "it is accepted",
        async () => (await admins[0].tryRegister({ uri: endpoint.url })).status === 201,
        LONG_MS,
      );
      await eventually("and called", () => isCallable("Later"), LONG_MS);
    },
    WHOLE_TEST_MS,
  );

  test(
    "stays callable while all registries are away; who starts meanwhile waits, says so, and serves when one is back",
    async () => {
      await Promise.all(registries.map((registry) => registry.kill()));
      expect(await isCallable("Fresh0")).toBe(true);
      const endpoint = await serve("Again");
      const refused = await admins[0].tryRegister({ uri: endpoint.url });
      expect([refused.status, refused.json]).toMatchObject([503, { restate_code: "OPS0004" }]);

      const [gatewayProbes, workerProbes, adminPort] = (await freePorts(3)) as [number, number, number];
      const [gateway, worker] = [cluster.gateways[1], cluster.workers[0]] as [ServiceProgram, ServiceProgram];
      await gateway.kill();
      const settings = {
        "probes.bind-address": "127.0.0.1",
        "shutdown-timeout": "5s",
        "worker.addresses": at(addresses.workerPorts[0]),
      };
      const shared = { ...settings, "registry.addresses": at(addresses.registryPort) };
      const started = await Promise.all([
        ServiceProgram.launch({
          service: "ingress-gateway",
          settings: { ...shared, "ingress.bind-address": "127.0.0.1", "ingress.bind-port": 0, "probes.bind-port": gatewayProbes },
        }).then(use),
        ServiceProgram.launch({
          service: "invoker-worker",
          settings: workerSettings(addresses, "late", { grpc: 0, probes: workerProbes }),
        }).then(use),
        ServiceProgram.launch({
          service: "admin-api",
          settings: adminSettings(addresses, { admin: adminPort, ingress: 1 }),
        }).then(use),
      ]);
      for (const port of [gatewayProbes, workerProbes, adminPort]) {
        await eventually("it reports the pending condition", async () => {
          const answer = await probe(port);
          return answer?.status === 503 && answer.text.includes("registry's state");
        });
      }
      expect(started.every(({ isRunning }) => isRunning)).toBe(true);
      expect(worker.isRunning).toBe(true);

      await registries[1].startAgain();
      await Promise.all(started.map((program) => program.ready()));
      using fresh = new TestIngressClient(urlOf((await started[0].ready())["ingress"]));
      expect((await fresh.call(["Fresh0", "echo"], "x")).status).toBe(200);
      await eventually(
        "registering works again",
        async () => (await admins[0].tryRegister({ uri: endpoint.url })).status === 201,
        LONG_MS,
      );
      await Promise.all([...started.map((program) => program.stop()), registries[0].startAgain(), gateway.startAgain()]);
      await Promise.all([registries[0].ready(), gateway.ready()]);
    },
    WHOLE_TEST_MS,
  );
});

describe("a batch", () => {
  interface View {
    readonly id: string;
    readonly state: string;
    readonly done: number;
    readonly matched: number;
    readonly failed: number;
  }
  const leads = ({ lines }: ServiceProgram): boolean =>
    lines.some((line) => /"leadership":"batches".*this process leads now/.test(line));
  const view = async (admin: TestAdminClient, id: string): Promise<View> =>
    (await admin.get(`/invocations/batches/${id}`)).json as View;
  const resultsOf = async (admin: TestAdminClient, id: string): Promise<{ invocation_id: string; status: number }[]> => {
    const all: { invocation_id: string; status: number }[] = [];
    for (let cursor: string | null = "0"; cursor !== null; ) {
      const answer = await admin.get(`/invocations/batches/${id}/results?cursor=${cursor}`);
      const page = answer.json as { results: typeof all; next_cursor: string | null };
      all.push(...page.results);
      cursor = page.next_cursor;
    }
    return all;
  };

  test(
    "that one management API began ends through another when the one that runs it is killed, and nothing is done twice",
    async () => {
      await admins[0].register({ uri: use(await SdkEndpoint.start({ services: [done], kind: "h2-bidi" })).url });
      await eventually("it can be called", async () => (await ingresses[0]?.send(["Done", "work"], null)) !== undefined, LONG_MS);
      for (let sent = 0; sent < CALLS; sent += 50) {
        await Promise.all(Array.from({ length: 50 }, () => ingresses[0]?.send(["Done", "work"], null)));
      }
      await eventually("all are done", async () => {
        const [row] = await admins[0].query("SELECT count(1) AS n FROM sys_invocation WHERE target_service_name = 'Done'");
        const [open] = await admins[0].query(
          "SELECT count(1) AS n FROM sys_invocation WHERE target_service_name = 'Done' AND status != 'completed'",
        );
        return Number(row?.["n"]) >= CALLS && open?.["n"] === 0;
      });
      await eventually("one leads", () => adminPrograms.some(leads), LONG_MS);
      const leader = leads(adminPrograms[0]) ? 0 : 1;
      const other = leader === 0 ? 1 : 0;
      const filter = "target_service_name = 'Done'";
      const begun = await admins[other].post("/invocations/batch", { operation: "restart-as-new", filter, limit: CALLS });
      expect({ status: begun.status, text: begun.text }).toMatchObject({ status: 202 });
      const { id, matched } = begun.json as View;
      expect(matched).toBe(CALLS);
      await eventually("it is under way", async () => (await view(admins[leader], id)).done > 20, LONG_MS);
      await adminPrograms[leader].kill();
      await eventually("it is over", async () => (await view(admins[other], id)).state === "finished", LONG_MS);
      expect(await view(admins[other], id)).toMatchObject({ done: CALLS, failed: 0 });
      const results = await resultsOf(admins[other], id);
      expect(new Set(results.map(({ invocation_id }) => invocation_id)).size).toBe(CALLS);
      const [row] = await admins[other].query(
        "SELECT count(1) AS n FROM sys_invocation WHERE target_service_name = 'Done' AND invoked_by = 'restart_as_new'",
      );
      expect(row).toEqual({ n: CALLS }); // A copy of each, and no second one.
      await adminPrograms[leader].startAgain();
      await adminPrograms[leader].ready();
      // Pages of results are kept by the API that was requested.
      expect(await resultsOf(admins[leader], id)).toEqual(results);
    },
    WHOLE_TEST_MS,
  );

  test(
    "is cancelled through every management API",
    async () => {
      const filter = "target_service_name = 'Done'";
      const begun = await admins[0].post("/invocations/batch", { operation: "purge-journal", filter });
      expect(begun.status).toBe(202);
      const { id } = begun.json as View;
      const cancelled = await Promise.all(admins.map((admin) => admin.delete(`/invocations/batches/${id}`)));
      for (const { status, json } of cancelled) {
        expect(status).toBe(200);
        expect((json as View).state).toMatch(/^(cancelled|finished)$/);
      }
      expect(await view(admins[0], id)).toEqual(await view(admins[1], id));
    },
    WHOLE_TEST_MS,
  );
});

test(
  "lists that are read in pages continue through another management API",
  async () => {
    const names: string[] = [];
    let cursor: string | null = null;
    for (let page = 0; page === 0 || cursor !== null; page++) {
      const query: string = cursor === null ? "limit=5" : `limit=5&cursor=${cursor}`;
      const { json } = await (admins[page % 2] as TestAdminClient).get(`/deployments?${query}`);
      const answer = json as { deployments: { id: string }[]; next_cursor: string | null };
      names.push(...answer.deployments.map(({ id }) => id));
      cursor = answer.next_cursor;
    }
    const whole = (await admins[0].get("/deployments")).json as { deployments: { id: string }[] };
    expect(names.sort()).toEqual(whole.deployments.map(({ id }) => id).sort());
    const schedule = { name: "either", cron: "0 0 1 1 *", target: { service: "Fresh0", handler: "echo" } };
    const made = await admins[0].post("/schedules", schedule);
    const { id } = made.json as { id: string };
    expect([made.status, (await admins[1].post(`/schedules/${id}/pause`, {})).status]).toEqual([201, 200]);
    expect((await admins[0].post(`/schedules/${id}/resume`, {})).json).toMatchObject({ paused: false });
    expect((await admins[1].delete(`/schedules/${id}`)).status).toBe(202);
    expect((await admins[0].post(`/schedules/${id}/pause`, {})).status).toBe(404);
  },
  WHOLE_TEST_MS,
);
