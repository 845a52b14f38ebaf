/** Creates the state that the recordings show, with an invocation in every status, and stores the ids by role. */
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "../eventually.js";
import { invocationIdOf, type Path } from "../ingress-client.js";
import { SdkEndpoint, type ServiceDefinitions, TestListener } from "../sdk-endpoint.js";
import type { TestWorld } from "../world.js";
import { extraServices, firstServices, movableServices, otherType, secondServices, zombieServices } from "./scenario-services.js";

/** Roles in recorded texts stand in braces: `{inv.running}`, `{dp.v1}`, `{port.v1}`. */
export class CliScenario {
  readonly #texts = new Map<string, string>();

  bind(role: string, text: string): void {
    this.#texts.set(`{${role}}`, text);
  }

  has(role: string): boolean {
    return this.#texts.has(`{${role}}`);
  }

  of(role: string): string {
    const text = this.#texts.get(`{${role}}`);
    if (text === undefined) throw new Error(`nothing has the role ${role}`);
    return text;
  }

  /** Replaces roles in a recorded text by the ids of this run. */
  expand(text: string): string {
    return text.replace(/\{[a-z]+\.[^{}\s]+\}/gi, (role) => this.#texts.get(role) ?? role);
  }

  /** Role by text of this run. */
  get roles(): ReadonlyMap<string, string> {
    return new Map([...this.#texts].map(([role, text]) => [text, role]));
  }
}

const THIRTY_DAYS = "30d";

export async function playScenario(world: TestWorld): Promise<CliScenario> {
  const scenario = new CliScenario();
  const { ingress, admin } = world;
  const serve = async (role: string, services: ServiceDefinitions) => {
    const endpoint = world.own(await SdkEndpoint.start({ services }));
    scenario.bind(`port.${role}`, `localhost:${endpoint.port}`);
    return endpoint;
  };
  const register = async (role: string, services: ServiceDefinitions, facts: object) => {
    const { port } = await serve(role, services);
    const id = await admin.register({ uri: `http://localhost:${port}`, ...facts });
    scenario.bind(`dp.${role}`, id);
  };
  const send = async (role: string, path: Path, argument?: unknown, options = {}) =>
    scenario.bind(`inv.${role}`, (await ingress.send(path, argument, options)).invocationId);
  const call = async (role: string, path: Path, argument?: unknown, options = {}) =>
    scenario.bind(`inv.${role}`, invocationIdOf(await ingress.call(path, argument, options)));
  const until = (role: string, status: string) =>
    eventually(`${role} to be ${status}`, async () => (await admin.row(scenario.of(`inv.${role}`)))?.["status"] === status);

  await register("v1", firstServices, { metadata: { env: "golden" }, additional_headers: { "x-golden": "1" } });
  await register("zombie", zombieServices, {});
  await send("zombie", ["Zomb", "wait"]);
  for (const [role, handler] of Object.entries(OF_GREETER)) await send(role, ["Greeter", handler]);
  await send("scheduled", ["Greeter", "greet"], "later", { delay: THIRTY_DAYS });
  await send("lockHolder", ["Counter", "locked", "hold"]);
  await until("lockHolder", "running");
  for (const role of ["inboxed1", "inboxed2"]) await send(role, ["Counter", "locked", "add"], 1);
  await send("parent", ["Greeter", "parent"], "child-lock");

  await call("completedOk", ["Greeter", "greet"], "you");
  await call("completedIdem", ["Greeter", "greet"], "you", { idempotencyKey: "idem-1" });
  for (const [role, handler] of Object.entries({ completedFail: "fail", completedFailPlain: "failPlain" })) {
    await call(role, ["Greeter", handler]);
  }
  await call("steps", ["Greeter", "steps"], 1);
  await call("typed", ["Greeter", "typed"], { name: "t" });
  await call("add", ["Counter", "c1", "add"], 5);
  await call("addIdem", ["Counter", "c1", "add"], 7, { idempotencyKey: "idem-obj" });
  await call("setAll", ["Counter", "c2", "setAll"], STATE);
  await call("setBin", ["Counter", "c3", "setBin"]);
  await call("weird", ["Counter", "key/with space+ü", "add"], 1);
  await send("runningIdem", ["Greeter", "block"], undefined, { idempotencyKey: "idem-run" });
  await send("wfRunning", ["Wf", "w-running", "run"], "in");
  await send("wfDone", ["Wf", "w-done", "run"], "in");
  await until("wfDone", "suspended");
  for (const value of ["yes", "again"]) await ingress.call(["Wf", "w-done", "signal"], value);
  await until("wfDone", "completed");
  await send("wfFailed", ["Wf", "w-failed", "run"], "in");
  await ingress.call(["Wf", "w-failed", "fail"], "no way");
  for (const role of ["killed", "cancelled"]) {
    await send(role, ["Greeter", "suspend"]);
    await until(role, "suspended");
    await admin.invocation(scenario.of(`inv.${role}`), role === "killed" ? "kill" : "cancel");
    await until(role, "completed");
  }

  await until("zombie", "suspended");
  await admin.delete(`/deployments/${scenario.of("dp.zombie")}?force=true`);
  await delay(2); // Lists of deployments are ordered by when they were made.
  await register("v2", secondServices, { metadata: { env: "golden", rev: "2" } });
  await call("greet2", ["Greeter", "greet2"], "you");
  await send("runningV2", ["Greeter", "block"]);
  for (const [role, status] of Object.entries(RESTING_STATUSES)) await until(role, status);
  await nameChildren(world, scenario);

  const rules = [
    { pattern: "*", limits: { concurrency: 100 } },
    { pattern: "s1/*", limits: { concurrency: 5 }, description: "five at a time" },
    { pattern: "s2/t1/*", disabled: true },
  ];
  await admin.http.request("PUT", "/limits/rules", { json: rules });

  for (const [role, services] of Object.entries({ extra: extraServices, movable: movableServices, otherType })) {
    await serve(role, services);
  }
  await serveFaults(world, scenario);
  scenario.bind("url.admin", world.server.adminUrl);
  scenario.bind("url.ingress", world.server.ingressUrl);
  return scenario;
}

const OF_GREETER = {
  running: "block",
  suspended: "suspend",
  sleeping: "sleepy",
  backingOff: "retry",
  backingOffRun: "flakyRun",
  paused: "pausing",
  killedOnMax: "killing",
};

const STATE = { n: 1.5, name: "älpha", list: [1, 2, 3], obj: { k: "v" }, yes: true, nul: null };

/** Statuses that invocations must reach before commands run. */
const RESTING_STATUSES: Readonly<Record<string, string>> = {
  running: "running",
  suspended: "suspended",
  sleeping: "suspended",
  backingOff: "backing-off",
  backingOffRun: "backing-off",
  paused: "paused",
  killedOnMax: "completed",
  parent: "suspended",
  runningIdem: "running",
  wfRunning: "suspended",
  wfFailed: "completed",
  runningV2: "running",
};

/** Creates the state for commands that change something. */
export async function prepareWrites(world: TestWorld, scenario: CliScenario): Promise<void> {
  const { ingress } = world;
  const bind = (role: string, id: string) => scenario.bind(`inv.w.${role}`, id);
  for (const [role, handler] of Object.entries(TO_CHANGE)) {
    bind(role, (await ingress.send(["Greeter", handler])).invocationId);
  }
  for (const role of ["purge", "restart"]) bind(role, invocationIdOf(await ingress.call(["Greeter", "greet"], "you")));
  bind("multiHold", (await ingress.send(["Counter", "multi", "hold"])).invocationId);
  bind("multiAdd", (await ingress.send(["Counter", "multi", "add"], 1)).invocationId);
  await ingress.call(["Counter", "p1", "add"], 1);
  const rows = () =>
    world.admin.query("SELECT count(*) AS n FROM sys_invocation WHERE target_handler_name = 'sleepy' AND status = 'suspended'");
  await eventually("three sleeping invocations", async () => (await rows())[0]?.["n"] === 3);
}

const TO_CHANGE = {
  cancel: "suspend",
  kill: "suspend",
  cancelKill: "suspend",
  pause: "block",
  sleepy1: "sleepy",
  sleepy2: "sleepy",
} as const;

/** Serves addresses at which registration fails, each for another reason. */
async function serveFaults(world: TestWorld, scenario: CliScenario): Promise<void> {
  const MANIFEST = "application/vnd.restate.endpointmanifest.v3+json";
  const P = { name: "P", ty: "SERVICE", handlers: [{ name: "h" }] };
  const bodies: Readonly<Record<string, readonly [status: number, type: string, body: string]>> = {
    s500: [500, "text/plain", "broken"],
    badjson: [200, MANIFEST, "{oops"],
    proto: [
      200,
      MANIFEST,
      JSON.stringify({ protocolMode: "BIDI_STREAM", minProtocolVersion: 90, maxProtocolVersion: 99, services: [P] }),
    ],
  };
  const faults = await TestListener.open(
    createHttp2Server((request, response) => {
      const [status, type, body] = bodies[request.url.split("/")[1] ?? ""] ?? [404, "text/plain", "nothing"];
      response.writeHead(status, { "content-type": type }).end(body);
    }),
    0,
  );
  const http1 = await TestListener.open(
    createServer((_request, response) => void response.writeHead(404, { "content-type": "text/plain" }).end("not here")),
    0,
  );
  const closedPort = await TestListener.open(createServer(), 0);
  await closedPort.close();
  for (const [role, listener] of Object.entries({ faults, http1 })) {
    world.own({ [Symbol.asyncDispose]: () => listener.close() });
    scenario.bind(`port.${role}`, `localhost:${listener.port}`);
  }
  scenario.bind("port.nobody", `localhost:${closedPort.port}`);
}

/** Assigns roles to invocations made by `parent` and `steps`, by their targets. */
async function nameChildren({ admin }: TestWorld, scenario: CliScenario): Promise<void> {
  for (const role of ["parent", "steps"]) {
    const children = await eventually("the children", async () => {
      const rows = await admin.query(
        `SELECT id, target, status FROM sys_invocation WHERE invoked_by_id = '${scenario.of(`inv.${role}`)}'`,
      );
      const isReady = role === "parent" ? rows.length === 3 : rows.length === 2;
      return isReady && rows.every(({ status }) => status !== "ready") ? rows : undefined;
    });
    for (const { id, target } of children) scenario.bind(`inv.childOf:${String(target)}`, String(id));
  }
}
