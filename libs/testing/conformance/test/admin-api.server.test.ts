/**
 * The responses of a busy server match the document at `/openapi`, which clients are generated from: every operation has the documented
 * shape and no other field. Further tests cover the HTTP listener itself.
 */
import { connect } from "node:http2";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Context, handlers, type Serde, service } from "@restatedev/restate-sdk";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { type CliScenario, playScenario } from "../src/cli/index.js";
import { type HttpAnswer, TestWorld } from "../src/index.js";

interface Documented {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let world: TestWorld;
let scenario: CliScenario;
let document: Document;
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { base64: true } });
const validators = new Map<string, ValidateFunction>();

beforeAll(async () => {
  world = await TestWorld.start();
  scenario = await playScenario(world);
  document = closed((await world.admin.get("/openapi")).json) as Document;
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

/**
 * Adds `additionalProperties: false` to objects with known fields: the document leaves them open for clients, but this server sends no
 * others.
 */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== "object" || node === null) return node;
  const inner = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, closed(value)]));
  const isOpen = "additionalProperties" in inner || !("properties" in inner) || "in" in inner;
  return isOpen ? inner : { ...inner, additionalProperties: false };
}

/** Why the answer is not what the document promises of this operation; empty when it is. */
function breaches(method: string, path: string, answer: HttpAnswer): readonly string[] {
  const operation = document.paths[path]?.[method.toLowerCase()];
  const response =
    operation?.responses[String(answer.status)] ?? (answer.status >= 400 ? operation?.responses["default"] : undefined);
  if (response === undefined) return [`status ${answer.status} is not documented: ${answer.text}`];
  const schema = response.content?.["application/json"]?.schema;
  if (schema === undefined) return answer.text === "" ? [] : [`a body that is not documented: ${answer.text}`];
  const name = `${method} ${path} ${answer.status}`;
  const validate = validators.get(name) ?? ajv.compile({ ...schema, components: document.components });
  validators.set(name, validate);
  if (validate(answer.json)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

const requestedOperations = new Set<string>();

/** Requests `path` as documented, with `{name}` replaced by the values in turn; text after `?` is sent unchanged. */
async function expectPromised(method: string, path: string, values: readonly string[] = [], json?: unknown): Promise<HttpAnswer> {
  const [documented = "", query] = path.split("?");
  let index = 0;
  const actual = documented.replace(/\{\w+\}/g, () => encodeURIComponent(values[index++] ?? ""));
  const url = query === undefined ? actual : `${actual}?${query}`;
  const answer = await world.admin.http.request(method, url, json === undefined ? {} : { json });
  requestedOperations.add(`${method} ${documented}`);
  expect([method, url, answer.status, breaches(method, documented, answer)]).toEqual([method, url, answer.status, []]);
  return answer;
}

describe("a busy server answers as its document promises", () => {
  test("about itself, deployments and services", async () => {
    for (const path of [
      "/version",
      "/health",
      "/livez",
      "/readyz",
      "/cluster-health",
      "/deployments",
      "/services",
      "/deployments?limit=1",
    ]) {
      expect((await expectPromised("GET", path)).status).toBe(200);
    }
    for (const role of ["dp.v1", "dp.v2"]) await expectPromised("GET", "/deployments/{deployment}", [scenario.of(role)]);
    for (const name of ["Greeter", "Counter", "Wf", "Configured", "Internal"]) {
      await expectPromised("GET", "/services/{service}", [name]);
      await expectPromised("GET", "/services/{service}/openapi", [name]);
      const { json } = await expectPromised("GET", "/services/{service}/handlers", [name]);
      for (const handler of (json as { handlers: { name: string }[] }).handlers) {
        await expectPromised("GET", "/services/{service}/handlers/{handler}", [name, handler.name]);
      }
    }
    await expectPromised("PATCH", "/services/{service}", ["Configured"], { public: true });
    await expectPromised("PATCH", "/deployments/{deployment}", [scenario.of("dp.v2")], {});
    await expectPromised("PUT", "/deployments/{deployment}", [scenario.of("dp.v2")], {});
    await expectPromised("POST", "/deployments/{deployment}/verify", [scenario.of("dp.v2")], {});
    const uri = `http://${scenario.of("port.extra")}`;
    const { json } = await expectPromised("POST", "/deployments?verify=true", [], { uri });
    await expectPromised("POST", "/deployments", [], { uri, force: true });
    await expectPromised("GET", "/deployments/{deployment}", [(json as { id: string }).id]);
    await expectPromised("DELETE", "/deployments/{deployment}?force=true", [(json as { id: string }).id]);
  });

  test("about invocations in every state, and what they wait for", async () => {
    const roles = [...scenario.roles].filter(([, role]) => role.startsWith("{inv."));
    expect(roles.length).toBeGreaterThan(30);
    for (const [id] of roles) {
      await expectPromised("GET", "/invocations/{invocation_id}/explain", [id]);
      await expectPromised("GET", "/invocations/{invocation_id}/timeline", [id]);
      await expectPromised("GET", "/invocations/{invocation_id}/timeline?payloads=true", [id]);
    }
  });

  test("about bundles and forks, and an operation that is undone", async () => {
    for (const role of ["completedOk", "backingOff"]) {
      const id = scenario.of(`inv.${role}`);
      await expectPromised("GET", "/invocations/{invocation_id}/bundle", [id]);
      for (const way of ["fork", "fork-in-sandbox"]) {
        await expectPromised("POST", `/invocations/{invocation_id}/${way}`, [id], { at: 0 });
      }
    }
    const killed = await expectPromised("PATCH", "/invocations/{invocation_id}/kill", [scenario.of("inv.backingOff")]);
    const operation = String(killed.headers["x-perdure-operation"]);
    await expectPromised("GET", "/operations");
    expect((await expectPromised("GET", "/operations/{operation_id}", [operation])).status).toBe(200);
    expect((await expectPromised("POST", "/operations/{operation_id}/undo", [operation])).status).toBe(200);
  });

  test("about subscriptions to events, and their deliveries", async () => {
    const to = { url: "https://hooks.example/" };
    const made = await expectPromised("POST", "/event-subscriptions", [], { types: ["invocation.failed"], to });
    const { id } = made.json as { id: string };
    await expectPromised("GET", "/event-subscriptions");
    await expectPromised("GET", "/event-subscriptions/{event_subscription}", [id]);
    await expectPromised("POST", "/event-subscriptions/{event_subscription}/rotate-secret", [id]);
    await expectPromised("POST", "/event-subscriptions/{event_subscription}/revoke-old-secret", [id]);
    await expectPromised("POST", "/event-deliveries/{invocation_id}/replay", [scenario.of("inv.completedOk")]);
    await expectPromised("DELETE", "/event-subscriptions/{event_subscription}", [id]);
  });

  test("to every verb, and to many at once", async () => {
    for (const role of ["running", "scheduled", "inboxed2", "completedOk", "wfDone", "backingOff"]) {
      const id = scenario.of(`inv.${role}`);
      await expectPromised("POST", "/invocations/{invocation_id}/crash-attempt", [id]);
      for (const verb of ["pause", "resume", "cancel", "restart-as-new", "purge-journal", "kill", "purge"]) {
        await expectPromised("PATCH", `/invocations/{invocation_id}/${verb}`, [id]);
      }
      await expectPromised("DELETE", "/invocations/{invocation_id}", [id]);
    }
    const filter = "target_service_name = 'Greeter'";
    await expectPromised("POST", "/invocations/batch", [], { operation: "resume", filter, dry_run: true });
    const { json } = await expectPromised("POST", "/invocations/batch", [], { operation: "purge", filter });
    const { id } = json as { id: string };
    await expectPromised("GET", "/invocations/batches");
    await expectPromised("GET", "/invocations/batches/{batch_id}", [id]);
    await expectPromised("GET", "/invocations/batches/{batch_id}/results", [id]);
    await expectPromised("DELETE", "/invocations/batches/{batch_id}", [id]);
  });

  test("about clusters, subscriptions, rules, schedules, state and queues", async () => {
    const properties = { "bootstrap.servers": "127.0.0.1:1" };
    await expectPromised("POST", "/kafka-clusters", [], { name: "c", properties });
    await expectPromised("PATCH", "/kafka-clusters/{cluster_name}", ["c"], { properties });
    const subscribed = await expectPromised("POST", "/subscriptions", [], {
      source: "kafka://c/t",
      sink: "service://Greeter/greet",
    });
    const subscription = (subscribed.json as { id: string }).id;
    for (const path of ["/kafka-clusters", "/subscriptions", "/subscriptions?limit=5"]) await expectPromised("GET", path);
    await expectPromised("GET", "/kafka-clusters/{cluster_name}?include_subscriptions=true", ["c"]);
    await expectPromised("GET", "/subscriptions/{subscription}", [subscription]);
    await expectPromised("DELETE", "/subscriptions/{subscription}", [subscription]);
    await expectPromised("DELETE", "/kafka-clusters/{cluster_name}", ["c"]);

    const limits = { concurrency: 3, rate: { limit: 5, per: "1s" } };
    await expectPromised("PUT", "/limits/rules", [], [{ pattern: "doc/*", limits, weight: 2, priority: 1, description: "d" }]);
    await expectPromised("POST", "/limits/rules/bulk-delete", [], [{ pattern: "doc/*" }]);

    const target = { service: "Greeter", handler: "greet" };
    const made = await expectPromised("POST", "/schedules", [], { name: "doc", cron: "0 0 1 1 *", target, payload: "x" });
    const schedule = (made.json as { id: string }).id;
    await expectPromised("POST", "/schedules/{schedule}/run", [schedule]);
    const past = { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" };
    await expectPromised("POST", "/schedules/{schedule}/backfill", [schedule], past);
    for (const path of ["/schedules/{schedule}", "/schedules/{schedule}/next"]) await expectPromised("GET", path, [schedule]);
    for (const verb of ["pause", "resume"]) await expectPromised("POST", `/schedules/{schedule}/${verb}`, [schedule]);
    await expectPromised("GET", "/schedules");
    await expectPromised("DELETE", "/schedules/{schedule}", [schedule]);

    await expectPromised("PUT", "/services/{service}/state-ttl", ["Counter"], { object_key: "doc", ttl: "1h" });
    await expectPromised("POST", "/services/{service}/state", ["Counter"], { object_key: "doc", new_state: { a: [49] } });
    const queues = await world.admin.query("SELECT id FROM sys_vqueue_meta LIMIT 1");
    for (const { id } of queues) {
      for (const verb of ["pause", "resume"]) await expectPromised("POST", `/vqueues/{vqueue_id}/${verb}`, [String(id)]);
    }
    const rows = await world.admin.http.request("POST", "/query", {
      json: { query: "SELECT * FROM sys_service" },
      headers: { accept: "application/json" },
    });
    expect(breaches("POST", "/query", rows)).toEqual([]);
    await expectPromised("POST", "/query", [], { query: "SELEC 1" });
  });

  test("and a field too many or too few would be noticed", async () => {
    const id = scenario.of("inv.parent");
    for (const path of ["explain", "timeline"].map((what) => `/invocations/{invocation_id}/${what}`)) {
      const answer = await world.admin.get(path.replace("{invocation_id}", id));
      const { target, ...rest } = answer.json as { target: string };
      const breachesOf = (json: object) => breaches("GET", path, { ...answer, json });
      expect(breachesOf({ target, ...rest })).toEqual([]);
      expect(breachesOf(rest)).toEqual([expect.stringContaining("target")]);
      expect(breachesOf({ target, ...rest, extra: 1 })).toEqual([expect.stringContaining("extra")]);
    }
  });

  test("and hardly an operation was left out", () => {
    const all = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const leftOut = all.filter((operation) => !requestedOperations.has(operation) && !LEFT_OUT.test(operation));
    expect(leftOut).toEqual([]);
  });
});

/** Other methods for the same, queues where there are none, and what is about consumers of Kafka. */
const LEFT_OUT = /^(POST \/query|PATCH \/schedules\/|PUT \/schedules\/|POST \/vqueues\/|.* \/subscriptions\/\{subscription\}\/)/;

test("payloads that are no JSON are shown and made by the code that serves the handler", async () => {
  const ciphered: Serde<string> = {
    contentType: "application/x-reversed",
    serialize: (text) => new TextEncoder().encode([...text].reverse().join("")),
    deserialize: (bytes) => [...new TextDecoder().decode(bytes)].reverse().join(""),
    preview: { toJsonString: (text) => JSON.stringify(text), fromJsonString: (json) => JSON.parse(json) as string },
  };
  const values: unknown[] = [];
  const echo = handlers.handler({ input: ciphered, output: ciphered }, async (_ctx: Context, text: string) => text);
  await world.deploy(
    {
      services: [service({ name: "Ciphered", handlers: { echo } })],
      onRequest: (path, headers) => path.startsWith("/serdes/") && values.push(headers["x-secret"]),
    },
    { additional_headers: { "x-secret": "open" } },
  );
  const convert = (operation: string, body: string, serde = "echo/input") =>
    world.admin.http.request("POST", `/internal/services/Ciphered/serdes/${operation}/${serde}`, { body });
  const shown = await convert("decode", "olleh");
  expect([shown.status, shown.headers["content-type"], shown.json]).toEqual([200, "application/json", "hello"]);
  const made = await convert("encode", '"hello"', "echo/output");
  expect([made.status, made.headers["content-type"], made.text]).toEqual([200, "application/x-reversed", "olleh"]);
  expect((await convert("decode", "x", "nope")).status).toBe(500);
  expect(values).toEqual(["open", "open", "open"]);
});

describe("the listener", () => {
  test("speaks HTTP/2 in clear, with several questions on one connection", async () => {
    const session = connect(world.server.adminUrl);
    const fetchPath = (path: string, headers: Record<string, string> = {}) =>
      new Promise<{ status: number; body: Buffer; encoding: unknown }>((resolve, reject) => {
        const chunks: Buffer[] = [];
        let received: Record<string, unknown> = {};
        session
          .request({ ":path": path, ...headers })
          .on("response", (answer) => {
            received = answer;
          })
          .on("data", (chunk: Buffer) => chunks.push(chunk))
          .on("error", reject)
          .on("end", () =>
            resolve({ status: Number(received[":status"]), body: Buffer.concat(chunks), encoding: received["content-encoding"] }),
          );
      });
    const answers = await Promise.all([
      fetchPath("/v3/services"),
      fetchPath("/deployments", { "accept-encoding": "gzip, zstd" }),
      fetchPath("/openapi", { "accept-encoding": "gzip" }),
      fetchPath("/services/Nope"),
    ]);
    session.close();
    expect(answers.map(({ status, encoding }) => [status, encoding])).toEqual([
      [200, undefined],
      [200, "zstd"],
      [200, "gzip"],
      [404, undefined],
    ]);
    expect(JSON.parse(zstdDecompressSync(answers[1].body).toString())).toHaveProperty("deployments");
    expect(JSON.parse(gunzipSync(answers[2].body).toString())).toHaveProperty("openapi", "3.1.0");
  });

  test("refuses cross-origin requests and requests that are not valid HTTP", async () => {
    for (const [method, path, status] of [
      ["OPTIONS", "/services", 405],
      ["GET", "/v1/services", 400],
      ["GET", "/v5/services", 404],
      ["GET", "/services/", 404],
      ["GET", "/services/%ff", 400],
    ] as const) {
      const answer = await world.admin.http.request(method, path, { headers: { origin: "https://elsewhere.example" } });
      expect([method, path, answer.status]).toEqual([method, path, status]);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      expect(answer.json).toMatchObject({ message: expect.stringMatching(/\S/), restate_code: null });
    }
    expect((await world.admin.http.request("POST", "/services")).status).toBe(405);
    const changing = await world.admin.http.request("POST", "/services", { headers: { origin: "https://elsewhere.example" } });
    expect([changing.status, changing.json]).toMatchObject([403, { restate_code: "OPS0100" }]);
  });
});
