/** Runtimes of environments as the cloud runs them: real servers, each a process of its own, through crashes and suspensions. */

import { createCipheriv, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Secret, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { type DesiredRuntime, type EnvironmentId, type Provisioner, RUNTIME_SECRET_HEADER, type Upstream } from "@perdure/cloud";
import { aDesiredRuntime, untilState } from "@perdure/cloud/testing";
import { programBundle } from "@perdure/dev-cluster";
import { openProcessProvisioner } from "@perdure/os-process";
import { freePortRange } from "@perdure/servers";
import { type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { eventually, type HttpAnswer, HttpClient, SdkEndpoint } from "../src/index.js";

const STEPS = 3;
const CALLS = 20;
const SLEEP_MS = 6_000;
const TEST_MS = 120_000;

let steps = 0;
const worker = service({
  name: "Worker",
  handlers: {
    work: async (ctx) => {
      for (let step = 0; step < STEPS; step++) await ctx.run(() => ++steps);
      return "worked";
    },
    doze: async (ctx) => {
      await ctx.sleep(SLEEP_MS);
      return "rested";
    },
  },
});

/** More than the small plan below allows, for some seconds. */
const PILES = 60;
const PILE_CHARS = 100_000;
const hoard = object({
  name: "Hoard",
  handlers: {
    grow: async (ctx: ObjectContext) => {
      for (let pile = 0; pile < PILES; pile++) {
        ctx.set(`pile ${pile}`, aPile(pile));
        await ctx.run(() => setTimeout(50));
      }
      return (await ctx.stateKeys()).length;
    },
  },
});

/** The same bytes each time, as replays require, and incompressible. */
function aPile(number: number): string {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, number), Buffer.alloc(16))
    .update(Buffer.alloc(PILE_CHARS))
    .toString("base64");
}

let directory: string;
let provisioner: Provisioner;
let endpoint: SdkEndpoint;
const clients: HttpClient[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "perdure-runtimes-"));
  provisioner = openProcessProvisioner(
    { clock: systemClock, random: systemRandom, logger: silentLogger },
    { directory, program: await programBundle("services/standalone"), ports: await freePortRange(40), egress: "open" },
  );
  endpoint = await SdkEndpoint.start({ services: [worker, hoard] });
}, TEST_MS);

afterAll(async () => {
  for (const client of clients) client[Symbol.dispose]();
  await provisioner[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
}, TEST_MS);

function anEnvironment(): DesiredRuntime {
  const { privateKey } = generateKeyPairSync("ed25519");
  return aDesiredRuntime({ signingKeyPem: new Secret(privateKey.export({ type: "pkcs8", format: "pem" }) as string) });
}

/** What a gateway does: shows the secret with each request. */
class RuntimeClient {
  readonly #client: HttpClient;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(origin: string, secret: Secret | undefined) {
    this.#client = new HttpClient(origin);
    this.#headers = secret === undefined ? {} : { [RUNTIME_SECRET_HEADER]: secret.reveal() };
    clients.push(this.#client);
  }

  request(method: string, path: string, json?: unknown): Promise<HttpAnswer> {
    const headers = { ...this.#headers, accept: "application/json" };
    return this.#client.request(method, path, json === undefined ? { headers } : { headers, json });
  }
}

const clientsOf = ({ ingress, admin, secret }: Upstream) => ({
  ingress: new RuntimeClient(ingress, secret),
  admin: new RuntimeClient(admin, secret),
});

async function bring(desired: DesiredRuntime): Promise<Upstream> {
  await provisioner.apply(desired);
  return (await untilState(provisioner, desired, "ready")).upstream;
}

/** Ends the runtime as the machine would, and resolves when the next one answers. */
async function kill(desired: DesiredRuntime): Promise<void> {
  const noticed = new Promise<void>((resolve) =>
    provisioner.onChange((id, state) => id === desired.environmentId && state?.phase === "starting" && resolve()),
  );
  process.kill(pidOf(desired.environmentId), "SIGKILL");
  await noticed;
  await untilState(provisioner, desired, "ready");
}

function pidOf(id: EnvironmentId): number {
  return (JSON.parse(readFileSync(join(directory, id, "process.json"), "utf8")) as { pid: number }).pid;
}

async function register({ admin }: { readonly admin: RuntimeClient }): Promise<void> {
  const answer = await admin.request("POST", "/deployments", { uri: endpoint.url });
  expect([answer.status, answer.status === 201 ? "" : answer.text]).toEqual([201, ""]);
}

test(
  "what is counted is what was done, however often the runtime is killed",
  async () => {
    const desired = anEnvironment();
    const { ingress, admin } = clientsOf(await bring(desired));
    await register({ admin });
    const ids: string[] = [];
    for (let i = 0; i < CALLS; i++) {
      const sent = await ingress.request("POST", "/Worker/work/send");
      ids.push((sent.json as { invocationId: string }).invocationId);
      if (i === CALLS / 2) await kill(desired);
    }
    await kill(desired);
    for (const id of ids) {
      const done = await eventually("the result", async () => {
        const answer = await ingress.request("GET", `/restate/invocation/${id}/attach`);
        return answer.status === 200 ? answer.json : undefined;
      });
      expect(done).toBe("worked");
    }
    const usage = (await admin.request("GET", "/internal/usage")).json as {
      source: string;
      actions: number;
      storedBytes: number;
    };
    expect(usage.actions).toBe(CALLS * (1 + STEPS));
    expect(usage.storedBytes).toBeGreaterThan(0);
    await kill(desired);
    expect((await admin.request("GET", "/internal/usage")).json).toMatchObject({ source: usage.source, actions: usage.actions });
  },
  TEST_MS,
);

test(
  "suspended, it answers reads and does nothing; what was due meanwhile happens when it is resumed",
  async () => {
    const desired = anEnvironment();
    const running = clientsOf(await bring(desired));
    await register(running);
    const sent = await running.ingress.request("POST", "/Worker/doze/send");
    const id = (sent.json as { invocationId: string }).invocationId;
    const sleeps = `SELECT status FROM sys_invocation WHERE id = '${id}'`;
    const statusOf = async ({ admin }: typeof running) =>
      ((await admin.request("POST", "/query", { query: sleeps })).json as { rows: { status: string }[] }).rows[0]?.status;
    const entries = `SELECT COUNT(*) AS n FROM sys_journal WHERE id = '${id}'`;
    await eventually("the sleep", async () => {
      const { rows } = (await running.admin.request("POST", "/query", { query: entries })).json as { rows: { n: number }[] };
      return Number(rows[0]?.n) >= 2;
    });
    const wakesAtMs = Date.now() + SLEEP_MS;

    const suspended = clientsOf(await bring({ ...desired, generation: 2, mode: "suspended" }));
    await eventually("the time at which it would wake", () => Date.now() > wakesAtMs + 300, TEST_MS);
    expect(await statusOf(suspended)).not.toBe("completed");
    expect((await suspended.admin.request("GET", "/deployments")).status).toBe(200);
    expect((await suspended.admin.request("GET", `/invocations/${id}/explain`)).status).toBe(200);
    const refused = await suspended.admin.request("POST", "/deployments", { uri: endpoint.url });
    expect([refused.status, refused.json]).toEqual([403, expect.objectContaining({ restate_code: "PERD0110" })]);
    const called = await suspended.ingress.request("POST", "/Worker/work");
    expect([called.status, called.json]).toEqual([403, expect.objectContaining({ restate_code: "PERD0110" })]);

    const resumed = clientsOf(await bring({ ...desired, generation: 3, mode: "running" }));
    expect((await resumed.ingress.request("GET", `/restate/invocation/${id}/attach`)).json).toBe("rested");
  },
  TEST_MS,
);

test(
  "one that stores all its plan allows takes no more and lets handlers wait; a bigger plan lets all continue, and nothing was lost",
  async () => {
    const { limits } = anEnvironment();
    const small = { ...anEnvironment(), limits: { ...limits, storedBytesMax: 2 * 1024 * 1024, deploymentsMax: 1 } };
    const { ingress, admin } = clientsOf(await bring(small));
    await register({ admin });
    const another = await admin.request("POST", "/deployments", { uri: `${endpoint.url}/another` });
    expect([another.status, another.json]).toEqual([403, expect.objectContaining({ restate_code: "TEN0002" })]);
    const sent = await ingress.request("POST", "/Hoard/me/grow/send");
    const id = (sent.json as { invocationId: string }).invocationId;
    const query = `SELECT last_failure_error_code AS code FROM sys_invocation WHERE id = '${id}'`;
    await eventually("the end of its attempt", async () => {
      const { rows } = (await admin.request("POST", "/query", { query })).json as { rows: { code?: string }[] };
      return rows[0]?.code === "TEN0003";
    });
    const refused = await ingress.request("POST", "/Worker/work");
    expect([refused.status, refused.json]).toEqual([507, expect.objectContaining({ restate_code: "TEN0003" })]);
    expect((await ingress.request("GET", `/restate/invocation/${id}/output`)).status).toBe(470);

    const big = { ...small, generation: 2, limits: { ...limits, storedBytesMax: 200 * 1024 * 1024, deploymentsMax: 5 } };
    const after = clientsOf(await bring(big));
    expect((await after.ingress.request("GET", `/restate/invocation/${id}/attach`)).json).toBe(PILES);
    expect((await after.ingress.request("POST", "/Worker/work")).json).toBe("worked");
  },
  TEST_MS,
);

test(
  "T19: environments see nothing of each other, and neither takes the other's secret",
  async () => {
    const [one, two] = await Promise.all([bring(anEnvironment()), bring(anEnvironment())]);
    const [a, b] = [clientsOf(one), clientsOf(two)];
    await register(a);
    expect((await a.ingress.request("POST", "/Worker/work")).json).toBe("worked");
    expect((await b.ingress.request("POST", "/Worker/work")).status).toBe(404);
    const rowsOf = async ({ admin }: typeof a) =>
      ((await admin.request("POST", "/query", { query: "SELECT id FROM sys_invocation" })).json as { rows: unknown[] }).rows;
    expect([(await rowsOf(a)).length, (await rowsOf(b)).length]).toEqual([1, 0]);
    expect((await b.admin.request("GET", "/services")).json).toEqual({ services: [] });
    expect((await new RuntimeClient(two.admin, one.secret).request("GET", "/services")).status).toBe(401);
    expect((await new RuntimeClient(two.ingress, undefined).request("POST", "/Worker/work")).status).toBe(401);
  },
  TEST_MS,
);
