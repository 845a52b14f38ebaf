/** Ingress and management API of a running server answer any input, and the server stays healthy. */
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { SeededRandom } from "@perdure/testkit";
import { type HttpAnswer, HttpClient, TestWorld } from "../src/index.js";
import { echoService } from "../src/services/echo.js";
import { flowServices } from "../src/services/flows.js";
import { storeObject } from "../src/services/store.js";
import { sendBytes } from "./fuzz/bytes.js";
import { type Drawn, drawRequest, type Sample } from "./fuzz/requests.js";

const SEED = Number(process.env["PERDURE_CONFORMANCE_SEED"] ?? 20_261_121);
const REQUESTS = 1_200;
const CONNECTIONS = 300;
const AT_A_TIME = 12;
const TEST_MS = 60_000;
const ID = "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx";
const DEPLOYMENT = "dp_15ChR1PDwZt22Rn2lfZrRo5";
const SUBSCRIPTION = "sub_11XHoawrCiWtv8kzhEyGtsR";

const INGRESS: readonly Sample[] = [
  { method: "POST", path: "/Echo/echo", json: { a: [1, "ü", null] } },
  { method: "POST", path: "/Echo/nil/send?delay=1h" },
  { method: "POST", path: "/Store/key/append", json: { a: 1 } },
  { method: "GET", path: "/Store/key/keys" },
  { method: "POST", path: "/restate/call/Echo/echo", json: 1 },
  { method: "POST", path: "/restate/send/Store/key/append", json: "x" },
  { method: "POST", path: "/restate/scope/s/call/Echo/echo", json: 1 },
  { method: "GET", path: `/restate/output/${ID}` },
  { method: "GET", path: `/restate/attach/${ID}` },
  {
    method: "POST",
    path: "/restate/output",
    json: { target: "idempotentInvocation", service: "Echo", handler: "echo", idempotencyKey: "k", key: "x" },
  },
  { method: "POST", path: "/restate/lookup", json: { target: "workflow", workflowName: "Quick", workflowKey: "k", scope: "s" } },
  { method: "POST", path: "/restate/attach", json: { target: "invocation", invocationId: ID } },
  { method: "GET", path: `/restate/invocation/${ID}/output` },
  { method: "GET", path: "/restate/invocation/Echo/echo/k/output" },
  { method: "GET", path: "/restate/workflow/Quick/k/output" },
  { method: "POST", path: "/restate/awakeables/sign_1abc/resolve", json: 1 },
  { method: "POST", path: "/restate/a/prom_1abc/reject", json: "no" },
  { method: "GET", path: "/restate/health" },
];

const ADMIN: readonly Sample[] = [
  { method: "GET", path: "/health" },
  { method: "GET", path: "/version" },
  { method: "GET", path: "/v3/openapi" },
  { method: "GET", path: "/deployments" },
  {
    method: "POST",
    path: "/deployments",
    json: {
      uri: "http://127.0.0.1:1/",
      additional_headers: { a: "b" },
      metadata: { a: "b" },
      force: false,
      breaking: true,
      dry_run: true,
      use_http_11: true,
    },
  },
  { method: "POST", path: "/v2/deployments", json: { arn: "arn:aws:lambda:us-east-1:1:function:f", assume_role_arn: null } },
  { method: "PATCH", path: `/deployments/${DEPLOYMENT}`, json: { uri: "http://127.0.0.1:1/", overwrite: true, dry_run: true } },
  { method: "DELETE", path: `/deployments/${DEPLOYMENT}?force=true` },
  { method: "GET", path: "/services/Echo/handlers/echo" },
  { method: "GET", path: "/services/Echo/openapi" },
  {
    method: "PATCH",
    path: "/services/Store",
    json: { public: true, idempotency_retention: "1d", journal_retention: "PT1H", abort_timeout: null },
  },
  {
    method: "POST",
    path: "/services/Store/state",
    json: { object_key: "k", new_state: { a: [1, 2, 3] }, version: null, scope: null },
  },
  { method: "PATCH", path: `/invocations/${ID}/cancel` },
  { method: "PATCH", path: `/invocations/${ID}/resume?deployment=latest` },
  { method: "PATCH", path: `/invocations/${ID}/restart-as-new?from=1&deployment=keep` },
  { method: "DELETE", path: `/invocations/${ID}?mode=Purge` },
  { method: "POST", path: "/internal/invocations_batch_operations/kill", json: { invocation_ids: [ID], deployment: "latest" } },
  { method: "POST", path: "/invocations/batch", json: { operation: "purge", filter: "status = 'none'", limit: 3, reason: "r" } },
  { method: "POST", path: "/invocations/batch", json: { operation: "resume", ids: [ID], deployment: "latest", dry_run: false } },
  { method: "GET", path: "/invocations/batches/bat_15ChR1PDwZt22Rn2lfZrRo5/results?cursor=1" },
  { method: "DELETE", path: "/invocations/batches/bat_15ChR1PDwZt22Rn2lfZrRo5" },
  { method: "GET", path: `/invocations/${ID}/explain` },
  { method: "GET", path: `/invocations/${ID}/timeline?payloads=true&from_step=2` },
  { method: "POST", path: "/kafka-clusters", json: { name: "k", properties: { "bootstrap.servers": "127.0.0.1:1" } } },
  { method: "PATCH", path: "/kafka-clusters/k", json: { properties: { "bootstrap.servers": "127.0.0.1:2" } } },
  {
    method: "POST",
    path: "/subscriptions",
    json: { source: "kafka://k/t", sink: "service://Echo/echo", options: { "group.id": "g" } },
  },
  { method: "DELETE", path: `/subscriptions/${SUBSCRIPTION}` },
  {
    method: "PUT",
    path: "/limits/rules",
    json: [{ pattern: "s/*", limits: { concurrency: 5 }, description: "d", precondition: { type: "none" } }],
  },
  { method: "POST", path: "/limits/rules/bulk-delete", json: [{ pattern: "*", expected_version: 1 }] },
  { method: "POST", path: "/vqueues/vq_1abc/pause" },
  { method: "POST", path: "/query", json: { query: "select 1" } },
];

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "ingress.request-size-limit": 100_000 } });
  await world.deploy({ services: [echoService(""), storeObject(""), flowServices("").quick] });
});
afterAll(() => world[Symbol.asyncDispose]());

/** So many in all, several at a time; each draws from a generator of its own. */
async function repeated(count: number, seed: number, once: (random: SeededRandom) => Promise<void>): Promise<void> {
  const root = new SeededRandom(seed);
  async function worker(random: SeededRandom): Promise<void> {
    for (let n = 0; n < count / AT_A_TIME; n++) await once(random.fork());
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, () => worker(root.fork())));
}

async function expectSound(): Promise<void> {
  expect(world.server.isRunning).toBe(true);
  // Hiding a service is nothing that has to be refused.
  for (const name of ["Echo", "Store"]) expect((await world.admin.patch(`/services/${name}`, { public: true })).status).toBe(200);
  expect((await world.admin.get("/health")).status).toBe(200);
  expect(await world.ingress.result(["Echo", "echo"], "still here")).toBe("still here");
  expect(await world.ingress.result(["Store", "fresh", "append"], 1)).toBeTruthy();
  expect(world.server.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
}

const DECODERS: Readonly<Record<string, (bytes: Uint8Array) => Buffer>> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
  deflate: inflateSync,
};

/** The text of an answer, decoded from the encoding that the request accepted. */
function textOf({ headers, bytes }: HttpAnswer): string {
  return (DECODERS[headers["content-encoding"] ?? ""]?.(bytes) ?? bytes).toString("utf8");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether an answer is a defect: a listener may refuse a request, but 500 is only for errors of other programs, with their names. */
function blunder(answer: HttpAnswer): boolean {
  if (answer.status < 500) return false;
  const { restate_code: code, message } = (jsonOf(textOf(answer)) ?? {}) as { restate_code?: string | null; message?: string };
  const isAboutAnEndpoint = code?.startsWith("META") === true || /decoded|discover|Lambda/.test(message ?? "");
  const isBadBody = answer.status === 500 && message?.startsWith("cannot read body: invalid") === true;
  const isBadLookup = answer.status === 500 && message?.startsWith("cannot read body: invalid lookup body") === true;
  return !(isAboutAnEndpoint || isBadBody || isBadLookup || answer.status === 503);
}

async function fuzz(url: string, samples: readonly Sample[], seed: number): Promise<void> {
  using http = new HttpClient(url);
  const blunders: { readonly request: Drawn; readonly answer: string }[] = [];
  await repeated(REQUESTS, seed, async (random) => {
    const { method, path, headers, body } = drawRequest(samples, random);
    // Some requests wait for an event that never comes, as specified.
    const withinMs = path.includes("attach") ? 300 : 15_000;
    const answer = await http
      .request(method, path, { headers, withinMs, ...(body === undefined ? {} : { body }) })
      .catch((cause: Error) =>
        withinMs === 300 && cause.message.includes("no answer within")
          ? undefined
          : brokenOff(cause, { method, path, headers, body }),
      );
    if (answer !== undefined && blunder(answer))
      blunders.push({ request: { method, path, headers, body }, answer: `${answer.status} ${textOf(answer)}` });
  });
  expect(blunders.slice(0, 5)).toEqual([]);
  await expectSound();
}

/** Requests that HTTP itself does not allow end with their connection. */
function brokenOff(cause: Error, request: Drawn): undefined {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "ECONNRESET" || code === "EPIPE" || code?.startsWith("ERR_") === true || code?.startsWith("HPE_") === true)
    return undefined;
  throw new Error(`${cause.message}: ${JSON.stringify(request).slice(0, 2_000)}`, { cause });
}

describe(`malformed requests (seed ${SEED})`, () => {
  test("to the ingress is refused politely", () => fuzz(world.server.ingressUrl, INGRESS, SEED), TEST_MS);
  test("to the management API is refused politely", () => fuzz(world.server.adminUrl, ADMIN, SEED + 1), TEST_MS);

  test(
    "and is not even HTTP ends with its connection",
    async () => {
      for (const url of [world.server.ingressUrl, world.server.adminUrl]) {
        const port = Number(new URL(url).port);
        await repeated(CONNECTIONS, SEED + 2, (random) => sendBytes(port, random));
        await expectSound();
      }
    },
    TEST_MS,
  );
});
