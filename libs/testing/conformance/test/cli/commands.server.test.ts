/** What the recordings do not cover of the official command line: other transports, editors, tokens, every way to name invocations. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { Cli, type CliOptions, openGuardedListener } from "../../src/cli/index.js";
import { eventually, FakeLambda, invocationIdOf, probe, SdkEndpoint, TestWorld } from "../../src/index.js";
import { echoService } from "../../src/services/echo.js";
import { lifecycleObject, lifecycleService } from "../../src/services/lifecycle.js";
import { storeObject } from "../../src/services/store.js";
import { buildOf } from "../../src/services/versions.js";

let world: TestWorld;
let lambda: FakeLambda;
let cli: Cli;
beforeAll(async () => {
  lambda = await FakeLambda.start();
  world = await TestWorld.start({ environment: lambda.environment });
  world.own(lambda);
  cli = world.own(new Cli(world.server));
  await world.deploy({ services: [echoService(""), lifecycleService, lifecycleObject, storeObject("")] });
});
afterAll(() => world[Symbol.asyncDispose]());

let names = 0;
const newName = (what: string) => `${what}${++names}`;

/** Both outputs as one text, blanks collapsed; rejects when the exit code is another. */
async function run(args: readonly string[], expected = 0, options: CliOptions = {}): Promise<string> {
  const { exitCode, stdout, stderr } = await cli.run(args, options);
  const said = `${stdout}\n${stderr}`.replace(/[ \t]+/g, " ");
  if (exitCode !== expected) throw new Error(`restate ${args.join(" ")}: exit code ${exitCode}\n${said}`);
  return said;
}

describe("the environment", () => {
  test("whoami reports a healthy server and the address of its ingress", async () => {
    const said = await run(["whoami"]);
    expect(said).toContain(`[OK]: Admin Service '${world.server.adminUrl}/' is healthy!`);
    expect(said).toContain(`Advertised ingress address http://localhost:${new URL(world.server.ingressUrl).port}/`);
  });

  test("a guarded listener accepts only the right token", async () => {
    await using listener = await openGuardedListener(world.server.adminUrl, "right");
    await using guarded = new Cli({ adminUrl: listener.url, ingressUrl: world.server.ingressUrl });
    const exitOf = async (token: string, ...args: string[]) =>
      (await guarded.run(args, { env: { RESTATE_AUTH_TOKEN: token } })).exitCode;
    expect(await exitOf("right", "services", "list")).toBe(0);
    expect(await exitOf("right", "sql", "select 1")).toBe(0);
    expect(await exitOf("wrong", "services", "list")).toBe(1);
    expect(await exitOf("wrong", "sql", "select 1")).toBe(1);
    const { stdout, stderr } = await guarded.run(["whoami"], { env: { RESTATE_AUTH_TOKEN: "wrong" } });
    expect(stdout + stderr).not.toContain("is healthy");
  });

  test.each([
    [["services", "list"], 1],
    [["sql", "select 1"], 1],
    [["invocations", "list"], 1],
    [["whoami"], 0],
  ] as const)("without a server: %j ends with %i and reports it", async (args, exitCode) => {
    await using closed = await openGuardedListener(world.server.adminUrl, "");
    await closed[Symbol.asyncDispose]();
    await using lost = new Cli({ adminUrl: closed.url, ingressUrl: closed.url });
    const result = await lost.run(args);
    expect(result.exitCode).toBe(exitCode);
    expect(result.stderr).toContain(`Unable to connect to the Restate server '${closed.url}/'`);
  });
});

describe("deployments", () => {
  const idIn = (said: string) => /Deployment ID: (dp_1\w{22})/.exec(said)?.[1] ?? "";

  test("over HTTP/1.1, when configured", async () => {
    const name = newName("Old");
    const endpoint = world.own(await SdkEndpoint.start({ services: [buildOf(name, "one")], kind: "h1-request-response" }));
    expect(await run(["deployments", "register", endpoint.url, "-y"], 1)).toContain("META0014");
    const id = idIn(await run(["deployments", "register", endpoint.url, "-y", "--use-http1.1"]));
    const described = await run(["deployments", "describe", id]);
    expect(described).toContain("Transport: HTTP/1.1");
    expect(described).toContain("Protocol Style: Request/Response");
    expect(await world.ingress.result([name, "k", "build"])).toBe("one");
  });

  test("on Lambda, by their ARN", async () => {
    const name = newName("Lam");
    const arn = lambda.addServices(name, [buildOf(name, "one")]);
    const said = await run(["deployments", "register", arn, "-y"]);
    expect(said).toContain(`- ${name}`);
    const id = idIn(said);
    expect(await run(["deployments", "describe", id])).toContain(`Transport: AWS Lambda`);
    expect(await run(["deployments", "list"])).toContain(`${arn} Lambda ${id}`);
    expect(await run(["services", "describe", name])).toContain(arn);
    expect(await world.ingress.result([name, "k", "build"])).toBe("one");
    expect(await run(["deployments", "register", arn, "-y"])).toContain(`already exists with id ${id}`);
  });

  test("headers go with every request to them, and are shown", async () => {
    const name = newName("Head");
    const calls: unknown[] = [];
    const endpoint = world.own(
      await SdkEndpoint.start({
        services: [buildOf(name, "one")],
        onRequest: (_path, headers) => calls.push(headers["x-secret"]),
      }),
    );
    const args = ["--extra-header", "x-secret=open", "--metadata", "team=blue"];
    const id = idIn(await run(["deployments", "register", endpoint.url, "-y", ...args]));
    await world.ingress.result([name, "k", "build"]);
    expect(calls).toEqual(Array(calls.length).fill("open"));
    const described = await run(["deployments", "describe", id]);
    expect(described).toContain("Deployment Additional Header: x-secret: open");
    expect(described).toContain("team: blue");
  });

  test("what would break is refused, and goes with --breaking", async () => {
    const name = newName("Brk");
    const first = world.own(await SdkEndpoint.start({ services: [buildOf(name, "one")] }));
    await run(["deployments", "register", first.url, "-y"]);
    const other = world.own(await SdkEndpoint.start({ services: [{ ...echoService(""), name }] }));
    const refused = await run(["deployments", "register", other.url, "-y"], 1);
    expect(refused).toContain("Breaking changes detected");
    expect(refused).toContain("META0006");
    const said = await run(["deployments", "register", other.url, "-y", "--breaking"]);
    expect(said).toMatch(new RegExp(`${name} 2 `));
    expect(await run(["services", "describe", name])).toContain("Service type: Service");
  });

  test("what is in use stays, what is drained goes, and force takes all", async () => {
    const name = newName("Use");
    const first = world.own(await SdkEndpoint.start({ services: [buildOf(name, "one")] }));
    const older = idIn(await run(["deployments", "register", first.url, "-y"]));
    const { invocationId } = await world.ingress.send([name, "k", "hold"]);
    const awakeable = await eventually("the awakeable", () => probe.get<string>(`hold:${name}:k`));
    const second = world.own(await SdkEndpoint.start({ services: [buildOf(name, "two")] }));
    const newer = idIn(await run(["deployments", "register", second.url, "-y"]));
    await eventually("its pin", async () => (await world.admin.row(invocationId))?.["pinned_deployment_id"] === older);
    expect(await run(["deployments", "list", "--extra"])).toMatch(new RegExp(`Draining 1 ${older}`));
    expect(await run(["deployments", "remove", older, "-y"], 1)).toContain("--force");
    await world.ingress.resolveAwakeable(awakeable, 1);
    await world.ingress.outcome(invocationId);
    expect(await run(["deployments", "list", "--extra"])).toMatch(new RegExp(`Drained 0 ${older}`));
    expect(await run(["deployments", "remove", older, "-y"])).toContain(`Deployment ${older} removed successfully`);
    const left = (await world.ingress.send([name, "z", "hold"])).invocationId;
    await eventually("its pin", async () => (await world.admin.row(left))?.["pinned_deployment_id"] === newer);
    expect(await run(["deployments", "remove", newer, "-y"], 1)).toContain("still Active");
    expect(await run(["deployments", "remove", newer, "-y", "--force"])).toContain("removed successfully");
    expect(await run(["invocations", "list", "--zombie"])).toContain(left);
    await run(["invocations", "kill", left, "-y"]);
  });
});

describe("editors", () => {
  const editor = (body: string): CliOptions => ({ env: { EDITOR: cli.script(newName("editor"), body) } });

  test("services config edit changes what was written, and nothing when nothing was", async () => {
    const added = `echo 'inactivity_timeout = "7s"' >> "$1"`;
    expect(await run(["services", "config", "edit", "Echo", "-y"], 0, editor(added))).toContain("Inactivity timeout: 7s");
    expect(await run(["services", "config", "view", "Echo"])).toContain("Inactivity timeout: 7s");
    expect(await run(["services", "config", "edit", "Echo", "-y"], 0, editor("true"))).toContain("No changes requested");
    await run(["services", "config", "edit", "Echo", "-y"], 1, editor(`echo 'abort_timeout = "soon"' >> "$1"`));
    await run(["services", "config", "edit", "Nope", "-y"], 1, editor("true"));
  });

  test("state edit replaces the state of a key, as text and as bytes", async () => {
    await world.ingress.result(["Store", "edited", "put"], { a: 1, b: "x" });
    await run(["state", "edit", "Store", "edited", "-y"], 0, editor(`printf '{"a": 2, "c": [1]}' > "$1"`));
    await eventually("the edit", async () =>
      (await run(["state", "get", "Store", "edited", "--plain"])).includes('{"a":2,"c":[1]}'),
    );
    expect(await world.ingress.result(["Store", "edited", "get"], "c")).toEqual([1]);
    await run(["state", "edit", "Store", "edited", "-y", "--binary"], 0, editor(`printf '{"raw": "AP_-QQ=="}' > "$1"`));
    await eventually("the edit", async () => (await run(["state", "get", "Store", "edited", "--binary"])).includes("raw"));
    expect(await world.ingress.result(["Store", "edited", "getBytes"], "raw")).toEqual([0, 255, 254, 65]);
  });

  test("state that changed under the editor is left alone, unless by force", async () => {
    await world.ingress.result(["Store", "raced", "put"], { a: 1 });
    const ingress = `${world.server.ingressUrl}/Store/raced/put`;
    const put = (n: number) =>
      `fetch("${ingress}", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ a: ${n} }) }).then((a) => process.exit(a.ok ? 0 : 1))`;
    const racing = (n: number) => `'${process.execPath}' -e '${put(n)}' && printf '{"a": 99}' > "$1"`;
    expect(await run(["state", "edit", "Store", "raced", "-y"], 1, editor(racing(2)))).toContain("409");
    expect(await world.ingress.result(["Store", "raced", "get"], "a")).toBe(2);
    await run(["state", "edit", "Store", "raced", "-y", "--force"], 0, editor(racing(3)));
    await eventually("the edit", async () => (await world.ingress.result(["Store", "raced", "get"], "a")) === 99);
  });

  test("kafka-clusters edit keeps the secrets that it was not shown", async () => {
    const secret = ["bootstrap.servers=a:1", "ssl.key.password=x"];
    await run(["kafka-clusters", "create", "-y", "edited", ...secret]);
    const moved = `sed -i 's/^bootstrap.servers=.*/bootstrap.servers=b:2/' "$1"`;
    expect(await run(["kafka-clusters", "edit", "edited", "-y"], 0, editor(moved))).toContain("Kafka cluster edited updated");
    const described = await run(["kafka-clusters", "describe", "edited"]);
    expect(described).toContain("Brokers: b:2");
    expect(described).toContain("ssl.key.password ***");
    expect(await run(["kafka-clusters", "edit", "edited", "-y"], 0, editor("true"))).toContain("No changes detected");
    await run(["kafka-clusters", "delete", "edited", "-y"]);
  });
});

describe("invocations, named in every way", () => {
  afterEach(async () => {
    const rows = await world.admin.query("SELECT id FROM sys_invocation WHERE status != 'completed'");
    for (const { id } of rows) await world.admin.invocation(String(id), "kill");
    await eventually("no invocation is left", async () => {
      const left = await world.admin.query("SELECT count(*) AS n FROM sys_invocation WHERE status != 'completed'");
      return left[0]?.["n"] === 0;
    });
  });

  /** One of a plain service, and one of an object that waits for nothing. */
  async function started(): Promise<Record<string, string>> {
    const key = newName("key");
    const { invocationId: service } = await world.ingress.send(["Life", "waiting"], newName("n"));
    const { invocationId: object } = await world.ingress.send(["Store", key, "hold"]);
    await eventually("the lock", () => probe.get(`held::${key}`));
    return { service, object, key };
  }
  const serviceForms = [(id: string) => id, () => "Life", () => "Life/waiting"];
  const objectForms = [
    (id: string) => id,
    () => "Store",
    (_id: string, key: string) => `Store/${key}`,
    (_id: string, key: string) => `Store/${key}/hold`,
  ];
  const statusOf = async (id: string) => (await world.admin.row(id))?.["status"];

  test.each([
    ["cancel", "Cancelled", "completed"],
    ["kill", "Killed", "completed"],
    ["pause", "Paused", "paused"],
  ])("%s", async (verb, done, status) => {
    for (const form of serviceForms) {
      const { service } = await started();
      expect(await run(["invocations", verb, form(service!), "-y"])).toContain(`[OK]: ${done} 1 invocations`);
      await eventually(status, async () => (await statusOf(service!)) === status);
      await world.admin.invocation(service!, "kill");
    }
    for (const form of objectForms) {
      const rows = await world.admin.query(
        "SELECT id FROM sys_invocation WHERE target_service_name = 'Store' AND status != 'completed'",
      );
      for (const { id } of rows) await world.admin.invocation(String(id), "kill");
      const { object, key } = await started();
      expect(await run(["invocations", verb, form(object!, key!), "-y"])).toContain(`[OK]: ${done} 1 invocations`);
      await eventually(status, async () => (await statusOf(object!)) === status);
    }
  });

  test("resume, keeping the deployment, and moving to another", async () => {
    for (const choice of [[], ["--deployment", "keep"], ["--deployment", "latest"]]) {
      const { service } = await started();
      await run(["invocations", "pause", service!, "-y"]);
      await eventually("its pause", async () => (await statusOf(service!)) === "paused");
      expect(await run(["invocations", "resume", service!, "-y", ...choice])).toContain("[OK]: Resumed 1 invocations");
      await eventually("its return", async () => (await statusOf(service!)) !== "paused");
      await world.admin.invocation(service!, "kill");
    }
    await run(["invocations", "resume", "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx", "-y"], 1);
  });

  test("purge and restart-as-new, of what is over", async () => {
    const done = async () => invocationIdOf(await world.ingress.call(["Life", "quick"], 1, { idempotencyKey: newName("i") }));
    for (const form of [(id: string) => id, () => "Life/quick"]) {
      const id = await done();
      const said = await run(["invocations", "restart-as-new", form(id), "-y"]);
      expect(said).toContain("[OK]: Restarted 1 invocations");
      const copy = new RegExp(`${id} (inv_1\\w{33})`).exec(said.split("NEW ID")[1] ?? "")?.[1] ?? "";
      expect(await world.ingress.outcome(copy)).toBe(1);
      expect(await run(["invocations", "purge", "Life/quick", "-y"])).toContain("[OK]: Purged 2 invocations");
      expect(await statusOf(id)).toBeUndefined();
    }
    await run(["invocations", "purge", "Life/quick", "-y"], 1);
  });
});
