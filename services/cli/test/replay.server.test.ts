/** Bundles of failing invocations of a real server, replayed on a fresh endpoint after the server is gone. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { awakeableId, parseInvocationId } from "@perdure/base";
import { eventually, SdkEndpoint, TestWorld } from "@perdure/conformance";
import { firstUserSignalIndex } from "@perdure/service-protocol";
import { Home } from "./home.js";
import { approval, cart, deployed, shop } from "./replay-services.js";

const TEST_MS = 240_000;

interface Outcome {
  readonly end: { readonly kind: string; readonly [field: string]: unknown };
  readonly as_in_bundle: boolean | null;
  readonly replayed_entries: readonly number[];
  readonly executed_steps: readonly { readonly name: string; readonly result: string }[];
}

/** Handler, input, and where the replay of the whole journal ends. */
type BugRow = readonly [
  target: string,
  input: unknown,
  exitCode: number,
  end: { readonly kind: string; readonly [field: string]: unknown },
  asInBundle: boolean | null,
  flags?: readonly string[],
];

const failed = (message: string) => ({
  kind: "failed",
  code: "RT0007",
  message: expect.stringContaining(message),
  stacktrace: expect.stringContaining("replay-services"),
});

const BUGS: readonly BugRow[] = [
  [
    "Shop/renamed",
    undefined,
    4,
    {
      kind: "mismatch",
      command_index: 1,
      expected: { type: "Run", name: "charge" },
      actual: { type: "Run", name: "charge card" },
    },
    true,
  ],
  ["Shop/readsNothing", { id: "o-1" }, 3, failed("Cannot read properties of undefined (reading 'name')"), true],
  ["Shop/failsInStep", undefined, 3, failed("division by zero"), true, ["--run-steps"]],
  ["Shop/failsInOneOfTwo", undefined, 3, failed("bad weather"), true, ["--run-steps"]],
  ["Shop/terminal", 10, 0, { kind: "returns", result: "the failure 422 over the limit by 2", is_same: true }, true],
  ["Shop/wrongResult", [1, 2], 0, { kind: "returns", result: "8", is_same: true }, true],
  ["Shop/afterSleep", undefined, 3, failed("woke up on the wrong side"), true],
  ["Shop/wrongCall", undefined, 3, failed("Cannot read properties of undefined (reading 'toFixed')"), true],
  ["Shop/awakeable", undefined, 3, failed("Cannot read properties of undefined (reading 'toUpperCase')"), true],
  ["Shop/waitsForever", undefined, 0, { kind: "waits" }, null],
  ["Shop/unlucky", undefined, 3, failed("unlucky: "), true],
  ["Shop/notJson", undefined, 3, { kind: "failed", message: expect.stringContaining("BigInt") }, true],
  ["Cart/ada/total", undefined, 3, failed("Cannot read properties of undefined (reading 'amount')"), true],
  ["Cart/bob/lazyTotal", undefined, 3, failed("Cannot read properties of undefined (reading 'amount')"), true],
  ["Approval/w-1/run", undefined, 3, failed("Cannot read properties of null (reading 'trim')"), true],
];

let home: Home;
let endpoint: SdkEndpoint;

const fileOf = (target: string): string => join(home.path, `${target.replaceAll("/", "-")}.bundle.json.gz`);

/** The first awakeable of the invocation. */
function awakeableOf(id: string): string {
  const parsed = parseInvocationId(id);
  if (!parsed.ok) throw new Error(parsed.problem);
  return awakeableId(parsed.value, firstUserSignalIndex);
}

/** Lets each bug happen, and writes the bundles. The server is gone afterwards. */
beforeAll(async () => {
  await using world = await TestWorld.start();
  home = await Home.make(
    { PERDURE_ADMIN_URL: world.server.adminUrl, PERDURE_INGRESS_URL: world.server.ingressUrl },
    { runsInProcess: true },
  );
  await world.deploy({ services: [shop, cart, approval], inactivityMs: 100 });
  const send = async (target: string, input: unknown): Promise<string> => {
    const body = input === undefined ? [] : [JSON.stringify(input)];
    return (await home.json<{ invocation_id: string }>(["send", target, ...body])).invocation_id;
  };
  for (const key of ["ada", "bob"]) await home.json(["call", `Cart/${key}/fill`, '[{"price":{"amount":1}},{}]']);
  const ids = new Map<string, string>();
  for (const [target, input] of BUGS) ids.set(target, await send(target, input));
  const renamed = ids.get("Shop/renamed") ?? "";
  await eventually("it sleeps", async () => ((await world.admin.row(renamed))?.["status"] === "suspended" ? true : undefined));
  deployed.version = 2;
  await send("Approval/w-1/decide", { by: null });
  const waiting = ids.get("Shop/awakeable") ?? "";
  await eventually("it waits", async () => ((await world.admin.row(waiting))?.["status"] === "suspended" ? true : undefined));
  await fetch(`${world.server.ingressUrl}/restate/awakeables/${awakeableOf(waiting)}/resolve`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  for (const [target, , , { kind }] of BUGS) {
    const id = ids.get(target) ?? "";
    await eventually(`${target} has come to its bug`, async () => {
      const row = await world.admin.row(id);
      const isThere =
        kind === "waits" ? row?.["status"] === "suspended" : row?.["last_failure"] || row?.["status"] === "completed";
      return isThere ? true : undefined;
    });
    await home.json(["bundle", id, "--out", fileOf(target)]);
    expect(existsSync(fileOf(target))).toBe(true);
  }
}, TEST_MS);

beforeAll(async () => {
  endpoint = await SdkEndpoint.start({ services: [shop, cart, approval] });
}, TEST_MS);
afterAll(async () => {
  await endpoint?.[Symbol.asyncDispose]();
  home?.[Symbol.dispose]();
}, TEST_MS);

async function replay(target: string, ...flags: readonly string[]): Promise<{ exitCode: number | null; outcome: Outcome }> {
  const { exitCode, stdout, stderr } = await home.run(["replay", fileOf(target), "--endpoint", endpoint.url, "--json", ...flags]);
  if (stdout === "") throw new Error(stderr);
  return { exitCode, outcome: JSON.parse(stdout) as Outcome };
}

test.each(BUGS)(
  "%s is reproduced without its server",
  async (target, _, exitCode, end, asInBundle, flags = []) => {
    const { exitCode: actual, outcome } = await replay(target, ...flags);
    expect([outcome.end, outcome.as_in_bundle, actual]).toEqual([expect.objectContaining(end), asInBundle, exitCode]);
  },
  TEST_MS,
);

describe("a step whose result is not in the bundle", () => {
  test("is not executed unless it is requested", async () => {
    const { exitCode, outcome } = await replay("Shop/failsInStep");
    expect([exitCode, outcome.end]).toEqual([
      0,
      { kind: "requests", command: { type: "Run", name: "divide" }, expected: expect.anything() },
    ]);
    const { stdout } = await home.run(["replay", fileOf("Shop/failsInStep"), "--endpoint", endpoint.url]);
    expect(stdout).toMatch(/about to execute the step 'divide'[\s\S]*--run-steps/);
  });
});

test("the text names entries, error, stack and what the bundle has", async () => {
  const { exitCode, stdout, stderr } = await home.run(["replay", fileOf("Shop/readsNothing"), "--endpoint", endpoint.url]);
  expect(exitCode).toBe(3);
  expect(stdout).toMatch(
    / {3}0 {2}Input[\s\S]* {3}1 {2}Run 'reserve'[\s\S]*→ The handler failed: RT0007[\s\S]*replay-services[\s\S]*It is the same in the bundle/,
  );
  expect(stderr).toMatch(/Shop\/readsNothing/);
});

test("a replay stops behind an entry, and steps go forward and back", async () => {
  const to = await replay("Shop/terminal", "--to", "0");
  expect([to.exitCode, to.outcome.end, to.outcome.replayed_entries]).toEqual([
    0,
    { kind: "requests", command: { type: "Run", name: "sum" }, expected: { type: "Run", name: "sum" } },
    [0],
  ]);
  const { exitCode, stdout } = await home.run(
    ["replay", fileOf("Shop/terminal"), "--endpoint", endpoint.url, "--step", "--json"],
    {
      stdin: "n\nb\ne\nq\n",
    },
  );
  const ends = stdout
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as Outcome).end.kind);
  expect([exitCode, ends]).toEqual([0, ["requests", "returns", "requests", "returns"]]);
});

test("an endpoint over HTTP/1.1 in request/response mode serves, too", async () => {
  await using other = await SdkEndpoint.start({ services: [shop], kind: "h1-request-response" });
  const { exitCode, stdout } = await home.run(["replay", fileOf("Shop/readsNothing"), "--endpoint", other.url, "--json"]);
  expect([exitCode, (JSON.parse(stdout) as Outcome).as_in_bundle]).toEqual([3, true]);
});

test("a replay that is not possible says why", async () => {
  const refusalOf = async (...args: readonly string[]) => {
    const { exitCode, stderr } = await home.run(["replay", ...args]);
    return [exitCode, stderr];
  };
  expect(await refusalOf(join(home.path, "none.gz"))).toEqual([1, expect.stringContaining("OPS0010")]);
  home.write("other.json", "{}");
  expect(await refusalOf(join(home.path, "other.json"))).toEqual([1, expect.stringContaining("no field 'format'")]);
  writeFileSync(join(home.path, "newer.gz"), gzipSync('{"format":"perdure.bundle","version":2}'));
  expect(await refusalOf(join(home.path, "newer.gz"))).toEqual([1, expect.stringContaining("update the program")]);
  expect(await refusalOf(fileOf("Shop/terminal"), "--endpoint", "http://127.0.0.1:9")).toEqual([
    1,
    expect.stringContaining("does not answer"),
  ]);
  await using other = await SdkEndpoint.start({ services: [cart] });
  expect(await refusalOf(fileOf("Shop/terminal"), "--endpoint", other.url)).toEqual([
    1,
    expect.stringMatching(/does not serve Shop\/terminal; it serves Cart \(.*total/),
  ]);
});
