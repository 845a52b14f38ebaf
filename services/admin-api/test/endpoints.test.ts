/**
 * Rules for every endpoint, tested at every endpoint: the OpenAPI document lists them, so a new one is tested as soon as it exists. Errors
 * are JSON with `message` and `restate_code` from every source.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { aManifest, aWireService, createTestRegistry, startEndpoint, type TestEndpoint } from "@perdure/registry/testing";
import {
  createScriptedPartitions,
  createTestAdminApi,
  type ScriptedPartitions,
  startServer,
  type TestResponse,
  type TestServer,
} from "../src/testing/index.js";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
/** Well-formed ids that do not exist, by the name of the path parameter. */
const UNKNOWN: Readonly<Record<string, string>> = {
  deployment: "dp_15ChR1PDwZt22Rn2lfZrRo5",
  subscription: "sub_15ChR1PDwZt22Rn2lfZrRo5",
  invocation_id: "inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz",
  vqueue_id: "vq_1a1mlWikgvPI7bKU0xvNnoATqq1LSWnL4B",
  schedule: "sch_15ChR1PDwZt22Rn2lfZrRo5",
  batch_id: "bat_15ChR1PDwZt22Rn2lfZrRo5",
  operation_id: "op_15ChR1PDwZt22Rn2lfZrRo5",
  event_subscription: "evs_15ChR1PDwZt22Rn2lfZrRo5",
  service: "Nope",
  handler: "nope",
  cluster_name: "nope",
};
/** Parameters with any text; all others are ids with a fixed form. */
const FREE_NAMES: ReadonlySet<string> = new Set(["service", "handler", "cluster_name"]);
/**
 * Unknown ids that are not errors: clearing the state of a removed service, pausing a queue that is empty, verbs that are always accepted.
 */
const ACCEPTS_UNKNOWN: ReadonlySet<string> = new Set([
  "POST /vqueues/{vqueue_id}/pause",
  "POST /vqueues/{vqueue_id}/resume",
  "DELETE /invocations/{invocation_id}",
]);

/** These need journals or schedules, which this test does not have; they have tests of their own. */
const NOT_HERE = /^(POST \/deployments\/\{deployment\}\/verify|(PUT|POST|PATCH|DELETE) \/schedules\/.*)$/;

interface Documented {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
}

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly operation: Documented;
}

let server: TestServer;
let partitions: ScriptedPartitions;
let endpoint: TestEndpoint;
let endpoints: readonly Endpoint[];
let allowed: ReadonlyMap<string, readonly string[]>;

beforeAll(async () => {
  partitions = createScriptedPartitions();
  partitions.answers.set("pauseQueue", { kind: "done" });
  partitions.answers.set("resumeQueue", { kind: "done" });
  endpoint = await startEndpoint("h2c", { body: aManifest([aWireService("Greeter", ["greet", "more"])]) });
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry(), partitions }));
  const { paths } = (await server.send("GET", "/openapi")).json<{ paths: Record<string, Record<string, Documented>> }>();
  endpoints = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  allowed = new Map(
    Object.entries(paths).map(([path, operations]) => [
      path,
      Object.keys(operations).flatMap((method) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()])),
    ]),
  );
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});

const titleOf = ({ method, path }: Endpoint): string => `${method} ${path}`;
const unknownPath = (path: string): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => UNKNOWN[name] ?? `no value for ${name}`);
const hasId = ({ path }: Endpoint): boolean => /\{\w+\}/.test(path);

function expectError(answer: TestResponse, statuses: readonly number[], what: string): void {
  expect([what, statuses.includes(answer.status), answer.status]).toEqual([what, true, answer.status]);
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(answer.json()).toEqual({
    message: expect.stringMatching(/\S/),
    restate_code: answer.json<{ restate_code: string | null }>().restate_code,
  });
}

describe("every path", () => {
  test("answers unsupported methods with 405 and the list of supported ones", async () => {
    for (const [path, methods] of allowed) {
      for (const method of METHODS.filter((one) => !methods.includes(one))) {
        const answer = await server.send(method, unknownPath(path));
        expect([method, path, answer.status]).toEqual([method, path, 405]);
        expect(answer.headers["allow"]?.split(",").sort()).toEqual([...methods].sort());
        if (method !== "HEAD") expect(answer.json()).toMatchObject({ restate_code: null });
      }
    }
  });

  test("with a trailing slash, in another case or below itself is unknown", async () => {
    for (const path of allowed.keys()) {
      const concretePath = unknownPath(path);
      for (const wrong of [`${concretePath}/`, `/x${concretePath}`, `/V2${concretePath}`, `/v5${concretePath}`]) {
        expectError(await server.send("GET", wrong), [404], wrong);
      }
    }
  });

  test("is served by every generation alike, and not by the first", async () => {
    for (const one of endpoints.filter(({ method }) => method === "GET")) {
      const path = unknownPath(one.path);
      const plain = await server.send("GET", path);
      for (const prefix of ["/v2", "/v3", "/v4"]) {
        const same = await server.send("GET", prefix + path);
        expect([prefix + path, same.status, same.text]).toEqual([prefix + path, plain.status, plain.text]);
      }
      expectError(await server.send("GET", `/v1${path}`), [400], `/v1${path}`);
    }
  });
});

describe("every endpoint", () => {
  test("refuses ids without a form, with its reason", async () => {
    for (const one of endpoints) {
      const names = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "").filter((name) => !FREE_NAMES.has(name));
      for (const name of names) {
        for (const bad of ["x", `${(UNKNOWN[name] ?? "").slice(0, 8)}`, "inv_1~", "%00"]) {
          const path = one.path.replace(`{${name}}`, bad);
          const answer = await server.send(one.method, path, one.operation.requestBody === undefined ? undefined : {});
          expectError(answer, [400], `${one.method} ${path}`);
        }
      }
    }
  });

  test("answers unknown ids with 404", async () => {
    for (const one of endpoints.filter((one) => hasId(one) && !NOT_HERE.test(titleOf(one)))) {
      if (ACCEPTS_UNKNOWN.has(titleOf(one))) {
        expect([titleOf(one), (await server.send(one.method, unknownPath(one.path))).status]).toEqual([titleOf(one), 202]);
        continue;
      }
      const body = BODIES[titleOf(one)] ?? (one.operation.requestBody === undefined ? undefined : {});
      const answer = await server.send(one.method, unknownPath(one.path), body);
      expectError(answer, [404], titleOf(one));
    }
  });

  test("with a body requires JSON, well-formed and of the right shape", async () => {
    const asJson = { "content-type": "application/json" };
    for (const one of endpoints.filter(({ operation }) => operation.requestBody !== undefined)) {
      const path = unknownPath(one.path);
      const optional = titleOf(one) === "POST /deployments/{deployment}/verify";
      if (!optional) expectError(await server.send(one.method, path, "{}", {}), [415], titleOf(one));
      expectError(await server.send(one.method, path, "{}", { "content-type": "text/plain" }), [415], titleOf(one));
      for (const broken of ["", "{", "nope", '{"a":1}}']) {
        expectError(await server.send(one.method, path, broken, asJson), [400], `${titleOf(one)} ${broken}`);
      }
      for (const wrong of ["null", "7", '"text"', "true"]) {
        expectError(await server.send(one.method, path, wrong, asJson), [422], `${titleOf(one)} ${wrong}`);
      }
    }
  });

  test("has the same head as its answer to GET, and no body", async () => {
    for (const one of endpoints.filter(({ method }) => method === "GET")) {
      const path = unknownPath(one.path);
      const [whole, head] = [await server.send("GET", path), await server.send("HEAD", path)];
      const without = ({ date: _date, ...rest }: TestResponse["headers"]) => rest;
      expect([path, head.status, head.text, without(head.headers)]).toEqual([path, whole.status, "", without(whole.headers)]);
    }
  });

  test("compresses what it answers when it is worth it", async () => {
    for (const one of endpoints.filter(({ method }) => method === "GET")) {
      const answer = await server.send("GET", unknownPath(one.path), undefined, { "accept-encoding": "gzip" });
      const plain = await server.send("GET", unknownPath(one.path));
      const isWorthIt = plain.body.length >= 32;
      expect([one.path, answer.headers["content-encoding"]]).toEqual([one.path, isWorthIt ? "gzip" : undefined]);
      expect([one.path, answer.headers["vary"]]).toEqual([one.path, isWorthIt ? "accept-encoding" : undefined]);
    }
  });
});

/** Valid bodies for endpoints that need more than `{}` to reach the check of the id. */
const BODIES: Readonly<Record<string, object>> = {
  "PUT /services/{service}/state-ttl": { object_key: "k", ttl: "1h" },
  "POST /services/{service}/state": { object_key: "k", new_state: { a: [1] } },
  "PATCH /kafka-clusters/{cluster_name}": { properties: { "bootstrap.servers": "a:1" } },
  "POST /invocations/{invocation_id}/fork": { at: 0 },
  "POST /invocations/{invocation_id}/fork-in-sandbox": { at: 0 },
  "POST /subscriptions/{subscription}/skip": { partition: 0, offset: 1 },
};

describe("queries", () => {
  test.each([
    ["DELETE", `/deployments/${UNKNOWN["deployment"]}?force=yes`],
    ["DELETE", "/kafka-clusters/x?force=1"],
    ["GET", "/deployments?limit=0"],
    ["GET", "/services?cursor=%21"],
    ["GET", "/subscriptions?limit=many"],
    ["GET", "/kafka-clusters?limit=1001"],
    ["PATCH", `/invocations/${UNKNOWN["invocation_id"]}/resume?deployment=nonsense`],
    ["PATCH", `/invocations/${UNKNOWN["invocation_id"]}/restart-as-new?from=-1`],
    ["PATCH", `/invocations/${UNKNOWN["invocation_id"]}/restart-as-new?from=4294967296`],
    ["DELETE", `/invocations/${UNKNOWN["invocation_id"]}?mode=Eat`],
    ["GET", `/invocations/${UNKNOWN["invocation_id"]}/timeline?payloads=maybe`],
  ])("%s %s is 400", async (method, path) => {
    expectError(await server.send(method, path), [400], path);
  });

  test.each<[object, string]>([
    [{ url: "http://127.0.0.1:1" }, "missing field `uri`"],
    [{ arn: 1 }, "arn: Invalid input: expected string, received number"],
    [{}, "missing field `uri`"],
  ])("POST /deployments of %j names the field", async (body, reason) => {
    const { status, text } = await server.send("POST", "/deployments", body);
    expect([status, text]).toEqual([422, expect.stringContaining(reason)]);
  });

  test.each(["x", "/t", "http://mykafka/t"])("the subscription source %p is 400 with META0009", async (source) => {
    const { status, text } = await server.send("POST", "/subscriptions", { source, sink: "service://PageA/x" });
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ restate_code: "META0009" })]);
  });

  test("unknown fields and parameters are ignored", async () => {
    expect((await server.send("GET", "/deployments?colour=blue")).status).toBe(200);
    expect(
      (await server.send("POST", "/kafka-clusters", { name: "extra", properties: { "bootstrap.servers": "a:1" }, colour: 1 }))
        .status,
    ).toBe(201);
  });
});

describe("lists in pages", () => {
  test("name every deployment, service, handler, cluster and subscription once", async () => {
    const registered = await Promise.all(
      ["A", "B", "C"].map(async (name) => {
        const one = await startEndpoint("h2c", { body: aManifest([aWireService(`Page${name}`, ["x", "y", "z"])]) });
        return { one, answer: await server.send("POST", "/deployments", { uri: one.uri }) };
      }),
    );
    for (const name of ["p1", "p2", "p3"]) {
      await server.send("POST", "/kafka-clusters", { name, properties: { "bootstrap.servers": "a:1" } });
      await server.send("POST", "/subscriptions", { source: `kafka://${name}/t`, sink: "service://PageA/x" });
    }
    for (const [path, field, key] of [
      ["/deployments", "deployments", "id"],
      ["/services", "services", "name"],
      ["/services/PageA/handlers", "handlers", "name"],
      ["/kafka-clusters", "clusters", "name"],
      ["/subscriptions", "subscriptions", "id"],
      ["/v3/subscriptions", "subscriptions", "id"],
    ] as const) {
      type Page = { [name: string]: { [name: string]: string }[] } & { next_cursor: string | null };
      const whole = (await server.send("GET", path)).json<Page>();
      expect(whole).not.toHaveProperty("next_cursor");
      const ids: (string | undefined)[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: Page = (await server.send("GET", `${path}?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`)).json<Page>();
        ids.push(...(page[field] ?? []).map((item) => item[key]));
        cursor = page.next_cursor;
      }
      expect([path, [...ids].sort()]).toEqual([path, whole[field]?.map((item) => item[key]).sort()]);
      expect(ids.length).toBeGreaterThanOrEqual(3);
    }
    for (const { one, answer } of registered) {
      expect(answer.status).toBe(201);
      await one[Symbol.asyncDispose]();
    }
  });
});

describe("at the same time", () => {
  const times = 12;
  const together = (send: (index: number) => Promise<TestResponse>) =>
    Promise.all(Array.from({ length: times }, (_, index) => send(index)));
  const counts = (answers: readonly TestResponse[]) =>
    Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, same]) => [status, same.length]));

  test("registrations of one destination make one deployment", async () => {
    const answers = await together(() => server.send("POST", "/deployments", { uri: endpoint.uri }));
    expect(counts(answers)).toEqual({ 201: 1, 409: times - 1 });
    const again = await together(() => server.send("POST", "/v4/deployments", { uri: endpoint.uri }));
    expect(counts(again)).toEqual({ 200: times });
    expect(new Set([...again.map((answer) => answer.json<{ id: string }>().id)]).size).toBe(1);
  });

  test("changes of a service end with one of them, whole", async () => {
    const answers = await together((index) =>
      server.send("PATCH", "/services/Greeter", { inactivity_timeout: `${index + 1}s`, abort_timeout: `${index + 1}m` }),
    );
    expect(counts(answers)).toEqual({ 200: times });
    const { inactivity_timeout, abort_timeout } = (await server.send("GET", "/services/Greeter")).json<Record<string, string>>();
    expect(Number.parseInt(String(inactivity_timeout), 10)).toBe(Number.parseInt(String(abort_timeout), 10));
  });

  test("a name is used once, and released once", async () => {
    const cluster = { name: "raced", properties: { "bootstrap.servers": "a:1" } };
    expect(counts(await together(() => server.send("POST", "/kafka-clusters", cluster)))).toEqual({ 201: 1, 409: times - 1 });
    expect(counts(await together(() => server.send("DELETE", "/kafka-clusters/raced")))).toEqual({ 202: 1, 404: times - 1 });
    const rule = [{ pattern: "raced", precondition: { type: "does_not_exist" } }];
    expect(counts(await together(() => server.send("PUT", "/limits/rules", rule)))).toEqual({ 200: 1, 409: times - 1 });
    const gone = await together(() => server.send("POST", "/limits/rules/bulk-delete", [{ pattern: "raced" }]));
    expect(gone.flatMap((answer) => answer.json<string[]>())).toEqual(["raced"]);
  });

  test("a deployment is removed once", async () => {
    const { deployments } = (await server.send("GET", "/deployments")).json<{ deployments: { id: string; uri: string }[] }>();
    const id = deployments.find(({ uri }) => uri.startsWith(endpoint.uri))?.id;
    const answers = await together(() => server.send("DELETE", `/deployments/${id}?force=true`));
    expect(counts(answers)).toEqual({ 202: 1, 404: times - 1 });
  });
});
