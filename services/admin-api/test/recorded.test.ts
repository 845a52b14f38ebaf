/**
 * Compares our answers with recorded answers of the reference system, whose clients must work with ours. Deliberate differences are listed
 * below with their reasons; everything else must be equal.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { DeploymentId, InvocationId } from "@perdure/base";
import { createTestRegistry, type EndpointScript, startEndpoint, type TestEndpoint } from "@perdure/registry/testing";
import type { CommandAnswer } from "@perdure/state-machine";
import {
  anInvocation,
  createScriptedPartitions,
  createTestAdminApi,
  type ScriptedPartitions,
  startServer,
  type TestResponse,
  type TestServer,
} from "../src/testing/index.js";
import { comparable, type Exchange, loadExchanges, Replay } from "./replay.js";

/** Our answer instead. `message: true` = the same status and code with another text; `false` = the same text. */
type Difference = {
  readonly status?: number;
  readonly code?: string | null;
  readonly message?: boolean;
  readonly body?: unknown;
};

const EXISTING_IS_REFUSED: Difference = { status: 409, code: "META0004" };
const OWN_MESSAGE: Difference = { message: true };

/** By file, then by the name of the exchange. */
const DIFFERENCES: Readonly<Record<string, Readonly<Record<string, Difference>>>> = {
  "deployments-register": {
    // Without a prefix a known destination is refused, as the interface specification requires; /v3 and later accept it unchanged.
    "same again, force absent": EXISTING_IS_REFUSED,
    "same again, force false": EXISTING_IS_REFUSED,
    "same, trailing slash": EXISTING_IS_REFUSED,
    "same, other metadata without force": EXISTING_IS_REFUSED,
    "dry run of existing": EXISTING_IS_REFUSED,
    "force null": EXISTING_IS_REFUSED,
    "uri with query": EXISTING_IS_REFUSED,
    both: EXISTING_IS_REFUSED,
    "unknown field": EXISTING_IS_REFUSED,
    "content type with charset": EXISTING_IS_REFUSED,
    "v2, force false on existing": EXISTING_IS_REFUSED,
    // We add the handlers that would be removed.
    "service type change": OWN_MESSAGE,
    "service type change, dry run": OWN_MESSAGE,
    // A scheme that we cannot call, and tokens that we cannot create, are refused at once.
    "ftp uri": { status: 400, code: null },
    "google auth without https": { status: 400, code: null },
    // Error texts of the transport differ.
    unreachable: OWN_MESSAGE,
    "HTTP/1.1 endpoint with use_http_11": OWN_MESSAGE,
    "endpoint answers 500": OWN_MESSAGE,
    "endpoint answers 404": OWN_MESSAGE,
    "endpoint bad json": OWN_MESSAGE,
    "endpoint bad content type": OWN_MESSAGE,
    "endpoint bad service name": OWN_MESSAGE,
    "SDK over HTTP/1.1": OWN_MESSAGE,
  },
  "deployments-write": {
    // An update in place must be similar, whatever other options it has, so a new address with other services is refused.
    "patch uri to other services": { status: 400, code: "META0016" },
    "patch uri to one already registered": { status: 400, code: "META0016" },
    "patch uri unreachable": OWN_MESSAGE,
    "patch use_http_11": { body: "the address of before, because the updates above were refused" },
    "patch metadata (not patchable)": { body: "the address of before, because the updates above were refused" },
    "patch lambda field": OWN_MESSAGE,
    // PUT and PATCH are the same operation in every version.
    "PUT unprefixed": { status: 200 },
    "PUT v2": { body: "the address of before, because the updates above were refused" },
    "PUT v3": { status: 200 },
    "PUT v4": { status: 200 },
    // Without force a deployment that is not needed is removed; a second removal finds no deployment.
    "delete without force": { status: 202 },
    "delete force=false": { status: 404, code: null },
    "delete force=true": { status: 404, code: null },
  },
  invocations: {
    "restart-as-new: workflowDone": OWN_MESSAGE,
  },
  kafka: {
    // The interface specification gives META0009 to every broken rule of a subscription.
    "subscribe: unknown cluster": { code: "META0009", message: true },
  },
  meta: {
    // A known path answers HEAD with the length of its own body, and our documents differ.
    "HEAD /services": {},
    openapi: { body: "our own document" },
  },
  query: {
    "syntax error": { status: 503, body: "there is no SQL engine in this test" },
    "syntax error with json": { status: 503, body: "there is no SQL engine in this test" },
  },
  "services-read": {
    "openapi Counter": { body: "compared by its paths below" },
    "openapi Wf": { body: "compared by its paths below" },
  },
  "services-write": {
    // A stale version is an error instead of a silent drop, and scoped state does not exist here.
    "state: wrong version": { status: 409, code: null },
    // The change is applied although the run handler sets the option in its manifest; the recording answers 200 and ignores it.
    "workflow retention on a workflow": { body: "the retention as changed" },
    "state: scope given": { status: 400, code: "RT0024" },
  },
};

let server: TestServer;
let partitions: ScriptedPartitions;
let replay: Replay;
let firstDeployment: DeploymentId;
const endpoints: TestEndpoint[] = [];

type Recorded = { contentType: string; server: string; manifest: object };
const manifests = JSON.parse(readFileSync(new URL("../testdata/manifests.json", import.meta.url), "utf8")) as Record<
  string,
  Recorded
>;

beforeAll(async () => {
  partitions = createScriptedPartitions();
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry(), partitions }));
  replay = new Replay(server);
  for (const [port, { contentType, server: sdk, manifest }] of Object.entries(manifests)) {
    await open(port, "h2c", { contentType, headers: { "x-restate-server": sdk }, body: manifest });
  }
  await open("21614", "http1", { status: 404, contentType: "text/plain", body: "not here" });
  await open("21617", "h2c", {});
  const emptyEndpoint = await startEndpoint("h2c");
  replay.translate("localhost:21699", new URL(emptyEndpoint.uri).host);
  await emptyEndpoint[Symbol.asyncDispose]();
  await registerScenario();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const endpoint of endpoints) await endpoint[Symbol.asyncDispose]();
});

async function open(recordedPort: string, http: "h2c" | "http1", script: EndpointScript): Promise<void> {
  const endpoint = await startEndpoint(http, script);
  endpoints.push(endpoint);
  replay.translate(`localhost:${recordedPort}`, new URL(endpoint.uri).host);
}

/** The two deployments that exist in every recording, and the id of one that was removed. */
async function registerScenario(): Promise<void> {
  const [v1, v2] = endpoints;
  const first = await server.send("POST", "/deployments", {
    uri: v1?.uri,
    additional_headers: { "x-golden": "1" },
    metadata: { env: "golden" },
  });
  const second = await server.send("POST", "/deployments", { uri: v2?.uri, metadata: { env: "golden", rev: "2" } });
  firstDeployment = first.json<{ id: DeploymentId }>().id;
  replay.translate("dp_14pRvKO3JzniV4tg6GOFKOl", firstDeployment);
  replay.translate("dp_10FO4WnaK42fvixX6zpnmOl", second.json<{ id: string }>().id);
}

/** Invalid manifests are served at one port; the path selects the fault. */
const FAULTS: Readonly<Record<string, EndpointScript>> = {
  s500: { status: 500, contentType: "text/plain", body: "broken" },
  s404: { status: 404, contentType: "text/plain", body: "nothing" },
  badjson: { body: "{oops" },
  badct: { contentType: "text/html", body: "<html>" },
  empty: { body: faulty(5, 5, []) },
  proto: { body: faulty(90, 99, [{ name: "P", ty: "SERVICE", handlers: [{ name: "h" }] }]) },
  badname: { body: faulty(5, 5, [{ name: "bad name!", ty: "SERVICE", handlers: [{ name: "h" }] }]) },
  duphandler: { body: faulty(5, 5, [{ name: "Dup", ty: "SERVICE", handlers: [{ name: "h" }, { name: "h" }] }]) },
  reqresp: {
    body: { ...faulty(5, 5, [{ name: "RR", ty: "SERVICE", handlers: [{ name: "h" }] }]), protocolMode: "REQUEST_RESPONSE" },
  },
};

function faulty(minProtocolVersion: number, maxProtocolVersion: number, services: readonly object[]): object {
  return { protocolMode: "BIDI_STREAM", minProtocolVersion, maxProtocolVersion, services };
}

function prepare(exchange: Exchange): void {
  const fault = /localhost:21617\/(\w+)/.exec(exchange.request.body ?? "")?.[1];
  if (fault !== undefined) endpoints.at(-1)?.say(FAULTS[fault] ?? {});
  partitions.answers.clear();
  partitions.answers.set("mutateState", { kind: exchange.name === "state: wrong version" ? "versionMismatch" : "done" });
  scriptInvocation(exchange);
}

/** Answer of a partition to a verb in each state of an invocation. */
const STARTED: Readonly<Record<string, CommandAnswer>> = {
  cancel: { kind: "pending" },
  kill: { kind: "done" },
  pause: { kind: "pending" },
  resume: { kind: "done" },
  purge: { kind: "notCompleted" },
  "purge-journal": { kind: "notCompleted" },
  "restart-as-new": { kind: "stillRunning" },
};
const WAITING: Readonly<Record<string, CommandAnswer>> = {
  ...STARTED,
  cancel: { kind: "done" },
  pause: { kind: "notRunning" },
  resume: { kind: "notStarted" },
  "restart-as-new": { kind: "notStarted" },
};
const FINISHED: Readonly<Record<string, CommandAnswer>> = {
  cancel: { kind: "alreadyCompleted" },
  kill: { kind: "alreadyCompleted" },
  pause: { kind: "notRunning" },
  resume: { kind: "alreadyCompleted" },
  purge: { kind: "done" },
  "purge-journal": { kind: "done" },
  "restart-as-new": { kind: "accepted" },
};
const PAUSED: Readonly<Record<string, CommandAnswer>> = { ...STARTED, pause: { kind: "alreadyPaused" } };
const STATES: Readonly<Record<string, Readonly<Record<string, CommandAnswer>>>> = {
  running: STARTED,
  suspended: PAUSED,
  backingOff: STARTED,
  paused: PAUSED,
  scheduled: WAITING,
  inboxed: WAITING,
  completed: FINISHED,
  failed: FINISHED,
  workflowDone: { ...FINISHED, "restart-as-new": { kind: "notRestartable", reason: "workflow" } },
};
/** Exchanges that are not of the form `<verb>: <state>`. */
const SINGLE_ANSWERS: Readonly<Record<string, CommandAnswer>> = {
  "restart-as-new ?from=99": { kind: "notRestartable", reason: "incompletePrefix" },
  "restart-as-new after purge-journal": { kind: "journalGone" },
  "purge again": { kind: "notFound" },
};

function scriptInvocation({ name, request }: Exchange): void {
  const id = /inv_1\w{33}/.exec(request.path + (request.body ?? ""))?.[0] as InvocationId | undefined;
  if (id === undefined || name.includes("unknown")) return;
  const [verb = "", state = ""] = name.split(": ");
  const [, , pathVerb = ""] = /^(\/v\d)?\/invocations\/\w+\/([\w-]+)/.exec(request.path) ?? [];
  if (!/batch (malformed|resume with|on v4)/.test(name)) {
    partitions.answers.set(id, SINGLE_ANSWERS[name] ?? STATES[state]?.[verb] ?? FINISHED[pathVerb] ?? { kind: "done" });
  }
  const pinned = { deploymentId: firstDeployment, protocolVersion: 7 };
  if (name.startsWith("resume running")) {
    partitions.invocations.set(id, anInvocation(id, "invoked", pinned));
    partitions.answers.set(id, { kind: "done" });
  } else if (name.startsWith("resume paused")) {
    partitions.invocations.set(id, anInvocation(id, "paused", undefined));
    partitions.answers.set(id, { kind: "done" });
  } else if (name.startsWith("restart-as-new ")) partitions.invocations.set(id, anInvocation(id, "completed", pinned));
}

type ErrorBody = { message: string; restate_code?: string | null };

async function check(file: string, exchange: Exchange): Promise<void> {
  prepare(exchange);
  const { ours, recorded } = await replay.run(exchange);
  const { response } = exchange;
  const difference = DIFFERENCES[file]?.[exchange.name];
  const status = difference?.status ?? response.status;
  expect({ status: ours.status, text: ours.status === status ? "" : ours.text }).toEqual({ status, text: "" });
  checkHeaders(exchange, ours, difference);
  if (exchange.request.method === "HEAD") return;
  const volatile = ["/[]/last_modified_millis_since_epoch", ...(exchange.volatile ?? [])];
  if (status >= 400) return checkError(exchange, ours.json<ErrorBody>(), recorded as ErrorBody | undefined, difference);
  if (difference !== undefined || recorded === undefined) return;
  expect(comparable(ours.json(), volatile)).toEqual(comparable(recorded, volatile));
}

function checkHeaders({ response, request }: Exchange, ours: TestResponse, difference: Difference | undefined): void {
  if (response.headers["allow"] !== undefined) expect(ours.headers["allow"]).toBe(response.headers["allow"]);
  if (response.headers["content-encoding"] !== undefined) {
    expect(ours.headers["content-encoding"]).toBe(response.headers["content-encoding"]);
  }
  if (ours.status < 400) {
    if (difference?.status === undefined) expect(ours.headers["vary"]).toBe(response.headers["vary"]);
    const { location } = response.headers;
    if (location !== undefined && !request.path.includes("dry_run")) {
      const isThrowaway = (request.body ?? "").includes("dry_run") && ours.status === 201;
      if (!isThrowaway) expect(ours.headers["location"]).toBe(replay.ours(location));
    }
  } else expect(ours.headers["content-type"]).toBe("application/json");
}

/** Errors that were plain text or empty are JSON here, with our own texts. */
function checkError(
  exchange: Exchange,
  ours: ErrorBody,
  recorded: ErrorBody | undefined,
  difference: Difference | undefined,
): void {
  expect(typeof ours.message).toBe("string");
  expect(ours.message).not.toBe("");
  if (difference?.body !== undefined) return;
  expect(ours.restate_code).toBe(difference?.code === undefined ? (recorded?.restate_code ?? null) : difference.code);
  if (difference !== undefined || recorded === undefined || exchange.volatile?.includes("/message") === true) return;
  // A code that occurs twice in the recording may occur once.
  expect(ours.message).toBe(recorded.message.replace(/^(\[\w+\]) \1/, "$1"));
}

/** The order is that of the recordings: later files depend on earlier ones. */
const FILES = [
  "meta",
  "deployments-read",
  "services-read",
  "query",
  "invocations",
  "vqueues",
  "deployments-register",
  "deployments-write",
  "services-write",
  "kafka",
  "rules",
];

describe.each(FILES)("%s as recorded", (file) => {
  if (file === "rules") {
    // A rule that existed before the recording began.
    beforeAll(() => server.send("PUT", "/limits/rules", [{ pattern: "*", limits: { concurrency: 100 } }]));
  }
  const exchanges = loadExchanges(file);
  test.each(exchanges.map((exchange) => [exchange.name, exchange] as const))("%s", (_name, exchange) => check(file, exchange));

  test("every listed difference belongs to a recorded exchange", () => {
    const names = new Set(exchanges.map(({ name }) => name));
    expect(Object.keys(DIFFERENCES[file] ?? {}).filter((name) => !names.has(name))).toEqual([]);
  });
});
