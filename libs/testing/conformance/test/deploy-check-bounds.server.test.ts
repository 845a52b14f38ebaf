/** Checks of new code: what they refuse, which endpoints they reach, and how they are bounded. */
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
  RawEndpoint,
  SdkEndpoint,
  type SdkEndpointOptions,
  TestWorld,
  temporaryDirectory,
} from "../src/index.js";
import { type ShopChange, shopOf } from "../src/services/deploy-check.js";
import type { Registered, Verification } from "./deploy-check-answers.js";

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

describe("the answer of a check", () => {
  test("that drops a handler names those that would be left behind", async () => {
    const { name, waiting } = await openShop();
    const endpoint = await candidate(name, "withoutWait");
    const refused = await register(endpoint, { verify: true });
    expect([refused.status, adminErrorOf(refused).restate_code]).toEqual([409, "META0006"]);
    const anyway = await register(endpoint, { verify: true, breaking: true, dry_run: true });
    expect(anyway.status).toBe(201);
    expect(verificationOf(anyway)).toMatchObject({ found: 5, checked: 4, incompatible: 1 });
    expect(verificationOf(anyway).findings[0]).toMatchObject({
      kind: "handler_missing",
      handler: "wait",
      invocation_id: waiting,
      status: "suspended",
    });
  });

  test("in place of what runs is checked against that first, and force alone does not override what is found", async () => {
    const name = newName();
    const first = await SdkEndpoint.start({ services: shopOf(name), inactivityMs: 20 });
    const id = (await register(first)).json as Registered;
    const { invocationId: waiting } = await world.ingress.send([name, "w", "wait"]);
    await until(waiting, "suspended");
    await first[Symbol.asyncDispose]();
    const again = await serve({ services: shopOf(name, "reordered"), port: first.port });
    const refused = await register(again, { verify: true, force: true });
    expect([refused.status, adminErrorOf(refused).restate_code]).toEqual([409, "META0101"]);
    expect(verificationOf(refused).findings).toEqual([
      expect.objectContaining({ kind: "journal_mismatch", invocation_id: waiting, deployment_id: id.id }),
    ]);
    const services = (await world.admin.get(`/deployments/${id.id}`)).json as { services: readonly { revision: number }[] };
    expect(services.services.every(({ revision }) => revision === 1)).toBe(true);
    expect((await register(again, { verify: true, force: true, breaking: true })).status).toBe(200);

    // The services it no longer has at all count too, when it takes their place.
    await again[Symbol.asyncDispose]();
    const other = await serve({ services: shopOf(newName()), port: first.port });
    const left = await register(other, { verify: true, force: true });
    expect(verificationOf(left).findings).toEqual([
      expect.objectContaining({ kind: "handler_missing", service: name, handler: "wait", invocations: 1 }),
    ]);
    expect(left.status).toBe(409);
  });

  test("does not check handlers that opted out", async () => {
    const { name } = await openShop();
    const requests: string[] = [];
    const endpoint = await serve({ services: shopOf(name, "optedOut"), onRequest: (path) => void requests.push(path) });
    const verification = verificationOf(await register(endpoint, { verify: true }));
    expect(verification.skipped).toBe(1);
    expect(verification.findings).toContainEqual(expect.objectContaining({ kind: "skipped", handler: "order" }));
    expect(requests).toContain(`/invoke/${name}/wait`);
    expect(requests).not.toContain(`/invoke/${name}/order`);
  });

  test("is not held up by an endpoint that hangs, nor by its bounds", async () => {
    const name = newName();
    const answerAll = await RawEndpoint.start({ scripts: { [name]: (attempt) => attempt.open().return("done") } });
    world.own(answerAll);
    expect((await register(answerAll)).status).toBe(201);
    for (let i = 0; i < 6; i++) await world.ingress.call([name, "run"]);
    const hanging = world.own(await RawEndpoint.start({ scripts: { [name]: () => {} } }));
    const each = await register(hanging, {
      verify: { replay_timeout: "50ms", concurrency: 2, completed_per_handler: 4 },
      dry_run: true,
    });
    expect(each.status).toBe(201);
    expect(verificationOf(each)).toMatchObject({
      found: 6,
      checked: 4,
      failed: 4,
      findings: [{ kind: "failed", code: "RT0001", invocations: 4 }],
    });
    const all = await register(hanging, { verify: { timeout: "200ms", concurrency: 2 } });
    expect(verificationOf(all)).toMatchObject({ found: 6, checked: 0, skipped: 6, is_complete: false });
    expect(all.status).toBe(201);
  });

  test.each<EndpointKind>(["h2-request-response", "h1-request-response"])("checks %s endpoints too", async (kind) => {
    const { name } = await openShop();
    const before = await traces(name);
    const over = { verify: true, use_http_11: kind === "h1-request-response" };
    const fine = verificationOf(await register(await candidate(name, "repaired", kind), { ...over, dry_run: true }));
    expect(fine).toMatchObject({ incompatible: 0, compatible: 5 });
    const wrong = verificationOf(await register(await candidate(name, "renamed", kind), over));
    expect(wrong.findings.map(({ kind: what, handler }) => [what, handler])).toEqual(
      expect.arrayContaining([
        ["journal_mismatch", "order"],
        ["journal_mismatch", "stuck"],
        ["journal_mismatch", "broken"],
      ]),
    );
    expect(await traces(name)).toEqual(before);
  });

  test("checks functions on AWS Lambda too", async () => {
    const { name } = await openShop();
    const before = await traces(name);
    const arn = lambda.addServices(`check-${name}`, shopOf(name, "renamed"));
    const answer = await world.admin.post("/deployments", { arn, verify: true });
    expect([answer.status, adminErrorOf(answer).restate_code]).toEqual([409, "META0101"]);
    expect(verificationOf(answer).findings.find(({ handler }) => handler === "order")).toMatchObject({
      expected: { type: "Run", name: "charge" },
      actual: { type: "Run", name: "bill" },
    });
    expect(lambda.events.length).toBeGreaterThan(0);
    for (const { headers } of lambda.events) expect(headers["x-perdure-check"]).toBe("replay");
    expect(await traces(name)).toEqual(before);
  });

  test("speaks the protocol each invocation is pinned to, and says when the new code does not", async () => {
    const name = newName();
    await world.deploy({ services: shopOf(name), inactivityMs: 20, protocolVersion: 5 });
    const { invocationId } = await world.ingress.send([name, "w", "wait"]);
    await until(invocationId, "suspended");
    const types: unknown[] = [];
    const both = await serve({
      services: shopOf(name),
      onRequest: (path, headers) => void (path === "/discover" || types.push(headers["content-type"])),
    });
    expect(verificationOf(await register(both, { verify: true, dry_run: true }))).toMatchObject({ compatible: 1 });
    expect(new Set(types)).toEqual(new Set(["application/vnd.restate.invocation.v5"]));
    const newer = await serve({ services: shopOf(name), protocolVersion: 6 });
    const answer = await register(newer, { verify: true });
    expect(answer.status).toBe(409);
    expect(verificationOf(answer)).toMatchObject({
      checked: 0,
      incompatible: 1,
      findings: [{ kind: "protocol_version", handler: "wait", invocation_id: invocationId }],
    });
  });

  test("accepts only valid options", async () => {
    const endpoint = await candidate(newName(), "nothing");
    for (const verify of [{ timeout: "1h" }, { concurrency: 0 }, { invocations: 1.5 }, { bytes: "many" }, "yes"]) {
      expect((await register(endpoint, { verify })).status).toBe(422);
    }
    expect((await register(endpoint, { verify: { nonsense: 1 } })).status).toBe(400);
    expect((await register(endpoint, {}, "?verify=perhaps")).status).toBe(400);
    const plain = await register(endpoint, { verify: false });
    expect(plain.status).toBe(201);
    expect(plain.json).not.toHaveProperty("verification");
  });
});

describe("a registered deployment", () => {
  test("can be checked for whether stuck invocations could be resumed on it, which they then can", async () => {
    const { name, waiting, stuck, broken } = await openShop();
    const repaired = await register(await candidate(name, "repaired"));
    const { id } = repaired.json as Registered;
    const before = await traces(name);
    const answer = await world.admin.http.request("POST", `/deployments/${id}/verify`);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ found: 3, checked: 3, compatible: 3, incompatible: 0, is_complete: true, findings: [] });
    expect(await traces(name)).toEqual(before);
    expect((await world.admin.get(`/deployments/${id}`)).json).toMatchObject({ verification: answer.json });
    for (const one of [stuck, broken]) {
      expect((await world.admin.invocation(one, "resume", `?deployment=${id}`)).status).toBe(200);
      expect(await world.ingress.outcome(one)).toBe("repaired");
    }
    expect(await statusOf(waiting)).toBe("suspended");
  });

  test("is answered with those that could not", async () => {
    const { name, stuck } = await openShop();
    const { id } = (await register(await candidate(name, "renamed"))).json as Registered;
    const answer = await world.admin.post(`/deployments/${id}/verify`, { completed_per_handler: 5 });
    const { findings, found } = answer.json as Verification;
    expect(found).toBe(5);
    expect(
      findings
        .filter(({ kind }) => kind === "journal_mismatch")
        .map(({ handler }) => handler)
        .sort(),
    ).toEqual(["broken", "order", "stuck"]);
    expect(findings.find(({ handler }) => handler === "stuck")?.invocation_id).toBe(stuck);
  });

  test("must exist", async () => {
    expect((await world.admin.post("/deployments/dp_15ChR1PDwZt22Rn2lfZrRo5/verify", {})).status).toBe(404);
    expect((await world.admin.post("/deployments/nonsense/verify", {})).status).toBe(400);
  });
});
