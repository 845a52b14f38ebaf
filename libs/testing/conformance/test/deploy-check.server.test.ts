/** Checks of code against existing journals: whether it can continue them, without side effects. */
import { generateKeyPairSync } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  adminErrorOf,
  type EndpointKind,
  eventually,
  FakeLambda,
  probe,
  SdkEndpoint,
  type SdkEndpointOptions,
  TestWorld,
  temporaryDirectory,
} from "../src/index.js";
import { NEXT_ACTIONS, nextActionsOf, type ShopChange, shopOf } from "../src/services/deploy-check.js";
import type { Finding, Registered, Verification } from "./deploy-check-answers.js";

const { privateKey } = generateKeyPairSync("ed25519");
const pem = join(temporaryDirectory(), "key.pem");
let world: TestWorld;
let lambda: FakeLambda;
beforeAll(async () => {
  writeFileSync(pem, privateKey.export({ format: "pem", type: "pkcs8" }));
  lambda = await FakeLambda.start();
  world = await TestWorld.start({
    environment: lambda.environment,
    settings: { "request-identity-private-key-pem-file": pem },
  });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await lambda[Symbol.asyncDispose]();
  rmSync(dirname(pem), { recursive: true });
});

let names = 0;
const newName = () => `Shop${++names}`;
const serve = async (options: SdkEndpointOptions) => world.own(await SdkEndpoint.start(options));
const register = (endpoint: { readonly url: string }, over: object = {}, query = "") =>
  world.admin.post(`/deployments${query}`, { uri: endpoint.url, ...over });
const verificationOf = (answer: { json: unknown }) => (answer.json as Registered).verification as Verification;
const candidate = (name: string, change: ShopChange, kind?: EndpointKind) =>
  serve({ services: shopOf(name, change), ...(kind === undefined ? {} : { kind }) });
const statusOf = async (id: string) => (await world.admin.row(id))?.["status"];
const until = (id: string, status: string) => eventually(`${id} ${status}`, async () => (await statusOf(id)) === status);

/** The first build, an order that is done, and one of each other kind in the middle. */
async function openShop(name = newName()) {
  const first = await world.deploy({ services: shopOf(name), inactivityMs: 20 });
  expect(await world.ingress.result([name, "k", "order"], 21)).toEqual({ orders: 0, rung: 42 });
  const waiting = (await world.ingress.send([name, "w", "wait"])).invocationId;
  const stuck = (await world.ingress.send([name, "s", "stuck"])).invocationId;
  const broken = (await world.ingress.send([name, "b", "broken"])).invocationId;
  await until(waiting, "suspended");
  await until(stuck, "paused");
  await until(broken, "paused");
  return { name, first, waiting, stuck, broken };
}

/** Everything that could show that something happened: steps that ran, journals, state, invocations. */
async function traces(name: string): Promise<unknown> {
  const steps = ["reserve", "charge", "bill", "notify", "before", "after", "first", "second", "other", "third", "busy"];
  const tables = [
    `SELECT id, status, modified_at, journal_size, pinned_deployment_id FROM sys_invocation WHERE target_service_name LIKE '${name}%'`,
    `SELECT j.id, j.index, j.raw_length FROM sys_journal j JOIN sys_invocation_status s ON s.id = j.id WHERE s.target_service_name LIKE '${name}%'`,
    `SELECT service_key, key, value_utf8 FROM state WHERE service_name = '${name}'`,
  ];
  const rows = await Promise.all(tables.map((sql) => world.admin.query(sql)));
  return [
    steps.map((step) => [step, probe.count(`${name}:${step}`)]),
    rows.map((table) => table.map((row) => JSON.stringify(row)).sort()),
  ];
}

describe("a registration with a check", () => {
  test("is answered that the same code continues with everything, and the check changes nothing", async () => {
    const { name, waiting, stuck, first } = await openShop();
    const before = await traces(name);
    const endpoint = await candidate(name, "nothing");
    const answer = await register(endpoint, {}, "?verify=true");
    expect(answer.status).toBe(201);
    const verification = verificationOf(answer);
    // The broken build fails as it did before, which is not a mismatch. The till's call is an invocation as well.
    expect(verification).toMatchObject({
      found: 5,
      checked: 5,
      compatible: 4,
      incompatible: 0,
      failed: 1,
      skipped: 0,
      is_complete: true,
    });
    expect(verification.findings).toEqual([
      expect.objectContaining({
        kind: "failed",
        handler: "broken",
        status: "paused",
        code: "RT0007",
        message: "a broken build",
        deployment_id: first.id,
      }),
    ]);
    expect(await traces(name)).toEqual(before);

    // Kept with the deployment, and what was in flight continues where it was.
    const shown = (await world.admin.get(`/deployments/${(answer.json as Registered).id}`)).json;
    expect(shown).toMatchObject({ verification });
    expect((await world.admin.get(`/deployments/${first.id}`)).json).not.toHaveProperty("verification");
    await world.ingress.resolveAwakeable(probe.get<string>(`wait:${name}:w`) ?? "", "go");
    expect(await world.ingress.outcome(waiting)).toEqual(["go", "nothing"]);
    expect(await statusOf(stuck)).toBe("paused");
  });

  test("says in every request that it is a check, and what is replayed", async () => {
    const { name, waiting } = await openShop();
    const requests: (readonly [string, unknown, unknown, unknown])[] = [];
    const endpoint = await serve({
      services: shopOf(name),
      onRequest: (path, headers) =>
        void requests.push([
          path,
          headers["x-perdure-check"],
          headers["x-restate-invocation-id"],
          headers["x-restate-signature-scheme"],
        ]),
    });
    expect((await register(endpoint, { verify: { completed_per_handler: 0 } })).status).toBe(201);
    const invokes = requests.filter(([path]) => path.startsWith("/invoke/"));
    expect(invokes.length).toBeGreaterThan(0);
    for (const [, check, , scheme] of invokes) expect([check, scheme]).toEqual(["replay", "v1"]);
    expect(invokes.map(([path, , id]) => [path, id])).toContainEqual([`/invoke/${name}/wait`, waiting]);
    expect(requests.filter(([path]) => path === "/discover").every(([, check]) => check === undefined)).toBe(true);
    // Requests of real attempts do not have the header.
    requests.length = 0;
    await world.ingress.result([name, "new", "order"], 1);
    expect(requests.map(([, check]) => check)).toEqual(requests.map(() => undefined));
  });

  test.each<[ShopChange, Partial<Finding>]>([
    [
      "reordered",
      {
        handler: "order",
        status: "completed",
        command_index: 3,
        expected: { type: "Run", name: "reserve" },
        actual: { type: "Run", name: "charge" },
      },
    ],
    ["removed", { handler: "order", command_index: 6, expected: { type: "Run", name: "charge" }, actual: { type: "Output" } }],
    [
      "renamed",
      { handler: "order", command_index: 6, expected: { type: "Run", name: "charge" }, actual: { type: "Run", name: "bill" } },
    ],
  ])("is refused when a step is %s, and the error names the place", async (change, expected) => {
    const { name } = await openShop();
    const before = await traces(name);
    const deployments = (await world.admin.get("/deployments")).text;
    const endpoint = await candidate(name, change);
    const answer = await register(endpoint, { verify: true });
    expect([answer.status, adminErrorOf(answer).restate_code]).toEqual([409, "META0101"]);
    expect(adminErrorOf(answer).message).toContain("RT0016");
    const { findings, incompatible } = verificationOf(answer);
    const mismatches = findings.filter(({ kind }) => kind === "journal_mismatch");
    expect(incompatible).toBe(mismatches.reduce((sum, { invocations }) => sum + invocations, 0));
    const ofOrder = mismatches.find(({ handler }) => handler === "order");
    expect(ofOrder).toMatchObject({ code: "RT0016", service: name, invocations: 1, ...expected });
    expect(ofOrder?.message).toContain("mismatch");
    expect(await traces(name)).toEqual(before);
    expect((await world.admin.get("/deployments")).text).toBe(deployments);

    const dry = await register(endpoint, { verify: true, dry_run: true });
    expect([dry.status, verificationOf(dry).incompatible]).toEqual([409, incompatible]);
    const anyway = await register(endpoint, { verify: true, breaking: true });
    expect([anyway.status, verificationOf(anyway).incompatible]).toEqual([201, incompatible]);
    expect((await world.admin.get(`/deployments/${(anyway.json as Registered).id}`)).json).toMatchObject({
      verification: { incompatible, findings: mismatches.map(({ handler }) => ({ handler })) },
    });
    expect(await traces(name)).toEqual(before);
  });

  test("finds suspended and paused ones that could not continue", async () => {
    const { name, waiting, stuck, broken } = await openShop();
    const reordered = verificationOf(
      await register(await candidate(name, "reordered"), { verify: { completed_per_handler: 0 } }),
    );
    expect(reordered.findings.find(({ invocation_id }) => invocation_id === waiting)).toMatchObject({
      kind: "journal_mismatch",
      status: "suspended",
      handler: "wait",
    });
    const renamed = verificationOf(await register(await candidate(name, "renamed"), { verify: { completed_per_handler: 0 } }));
    expect(renamed.findings.find(({ invocation_id }) => invocation_id === stuck)).toMatchObject({
      kind: "journal_mismatch",
      status: "paused",
      command_index: 2,
      expected: { type: "Run", name: "second" },
      actual: { type: "Run", name: "another" },
    });
    expect(renamed.findings.find(({ invocation_id }) => invocation_id === broken)).toMatchObject({
      kind: "journal_mismatch",
      command_index: 1,
      expected: { type: "Run", name: "first" },
      actual: { type: "Run", name: "other" },
    });
    expect(probe.count(`${name}:second`)).toBe(2); // Its two attempts, and none of ours.
  });

  test("finds one that would wait where it continued before", async () => {
    const name = newName();
    await world.deploy({ services: shopOf(name), inactivityMs: 20 });
    const { invocationId } = await world.ingress.send([name, "n", "nap"]);
    await until(invocationId, "suspended");
    const same = verificationOf(await register(await candidate(name, "added"), { verify: true, dry_run: true }));
    expect(same).toMatchObject({ compatible: 1, findings: [] });
    const earlier = verificationOf(await register(await candidate(name, "waitsEarlier"), { verify: true }));
    expect(earlier.findings).toEqual([expect.objectContaining({ kind: "journal_mismatch", handler: "nap", code: "RT0016" })]);
    expect(earlier.findings[0]?.message).toContain("'await' could not be replayed");
    expect(probe.count(`${name}:first`)).toBe(1);
    expect((await world.admin.invocation(invocationId, "kill")).status).toBe(200);
  });

  test("finds nothing wrong with new steps at the end, and performs none of them", async () => {
    const { name } = await openShop();
    const before = await traces(name);
    const verification = verificationOf(await register(await candidate(name, "added"), { verify: true }));
    expect(verification).toMatchObject({ incompatible: 0, failed: 0, compatible: 5, findings: [] });
    expect(await traces(name)).toEqual(before);
  });

  test("is granted with a report when completed ones would end otherwise", async () => {
    const { name } = await openShop();
    const answer = await register(await candidate(name, "otherOutput"), { verify: true });
    expect(answer.status).toBe(201);
    expect(verificationOf(answer).findings).toEqual([
      expect.objectContaining({ kind: "output_differs", handler: "order", status: "completed", invocations: 1 }),
    ]);
  });

  test("starts nothing, whatever a handler would do next", async () => {
    const name = newName();
    await world.deploy({ services: [nextActionsOf(name, true)] });
    const actions = Object.keys(NEXT_ACTIONS);
    const sent = await Promise.all(actions.map((action) => world.ingress.send([name, "k", action])));
    for (const { invocationId } of sent) await until(invocationId, "paused");
    for (const kind of ["h2-bidi", "h2-request-response"] as const) {
      const endpoint = await serve({ services: [nextActionsOf(name, false)], kind });
      const verification = verificationOf(await register(endpoint, { verify: true, dry_run: true }));
      expect(verification).toMatchObject({ checked: actions.length, compatible: actions.length, findings: [] });
    }
    expect(probe.count(`${name}:ran`)).toBe(0);
  });

  test("leaves a step under way alone, also while it runs", async () => {
    const name = newName();
    await world.deploy({ services: shopOf(name) });
    const { invocationId } = await world.ingress.send([name, "k", "busy"]);
    const release = await eventually("the step", () => probe.get<() => void>(`busy:${name}:k`));
    const verification = verificationOf(await register(await candidate(name, "added"), { verify: true }));
    expect(verification).toMatchObject({ found: 1, compatible: 1, findings: [] });
    expect(probe.count(`${name}:busy`)).toBe(1);
    release();
    expect(await world.ingress.outcome(invocationId)).toBe("nothing");
    expect(probe.count(`${name}:busy`)).toBe(1);
  });
});
