/** Bundles of invocations of a real server: what is in the file, and that no secret is. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type BundleView, parseBundle } from "@perdure/admin-client";
import { eventually, TestWorld } from "@perdure/conformance";
import * as restate from "@restatedev/restate-sdk";
import { Home } from "./home.js";

const TEST_MS = 120_000;

const CANARIES = {
  password: "canary-input-1",
  state: "canary-state-2",
  step: "canary-step-3",
  header: "canary-header-4",
  cookie: "canary-cookie-5",
};

const account = restate.object({
  name: "Account",
  handlers: {
    open: async (ctx: restate.ObjectContext, request: { user: string; password: string }) => {
      const before = await ctx.get<{ apiKey: string; plan: string }>("profile");
      ctx.set("profile", { apiKey: CANARIES.state, plan: before?.plan ?? "free" });
      const session = await ctx.run("log in", () => ({ sessionToken: CANARIES.step, user: request.user }));
      // Errors quote what they should not.
      throw new Error(`cannot open for ${request.password} with ${session.sessionToken}, ${CANARIES.state}`);
    },
    close: async () => {
      throw new restate.TerminalError("closed for good", { errorCode: 410 });
    },
  },
});

let world: TestWorld;
let home: Home;
let failing: string;

beforeAll(async () => {
  world = await TestWorld.start();
  const addresses = { PERDURE_ADMIN_URL: world.server.adminUrl, PERDURE_INGRESS_URL: world.server.ingressUrl };
  home = await Home.make(addresses, { runsInProcess: true });
  await world.deploy({ services: [account] });
  const response = await fetch(`${world.server.ingressUrl}/Account/ada/open/send`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${CANARIES.header}`,
      cookie: `sid=${CANARIES.cookie}`,
    },
    body: JSON.stringify({ user: "ada", password: CANARIES.password }),
  });
  failing = ((await response.json()) as { invocationId: string }).invocationId;
  await eventually("an attempt has failed", async () => ((await world.admin.row(failing))?.["last_failure"] ? true : undefined));
}, TEST_MS);
afterAll(async () => {
  home?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

interface Summary {
  readonly file: string;
  readonly redacted: number | null;
  readonly unsearched: number;
  readonly entries: number;
}

async function bundleOf(
  id: string,
  ...flags: readonly string[]
): Promise<{ summary: Summary; text: string; bundle: BundleView }> {
  const file = join(home.path, `${flags.length}.bundle.json.gz`);
  const summary = await home.json<Summary>(["bundle", id, "--out", file, ...flags]);
  expect(summary.file).toBe(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = gunzipSync(readFileSync(file)).toString();
  return { summary, text, bundle: parseBundle(text) };
}

/** The text of the file and of everything in it that is encoded. */
function everythingIn(text: string, { journal, state }: BundleView): string {
  const encoded = [
    ...journal.entries.map(({ body }) => body),
    ...(state?.entries ?? []).flatMap(({ key, value }) => [key, value]),
  ];
  return [text, ...encoded.map((base64) => Buffer.from(base64, "base64").toString("latin1"))].join("\n");
}

test(
  "the file has what a replay needs, and none of the secrets",
  async () => {
    const { summary, text, bundle } = await bundleOf(failing);
    const everything = everythingIn(text, bundle);
    for (const canary of Object.values(CANARIES)) expect(everything).not.toContain(canary);
    expect(bundle.invocation).toMatchObject({
      id: failing,
      target: { service: "Account", handler: "open", key: "ada", service_type: "virtualObject", handler_type: "exclusive" },
      random_seed: expect.stringMatching(/^\d+$/),
    });
    expect(bundle.deployment).toMatchObject({
      protocol_version: expect.any(Number),
      sdk: expect.stringMatching(/^restate-sdk-typescript\//),
      revision: 1,
    });
    expect(bundle.journal.entries.map(({ label }) => label)).toEqual([
      "Command: Input",
      "Command: GetEagerState",
      "Command: SetState",
      "Command: Run",
      "Notification: Run",
    ]);
    expect(bundle.state).toEqual({ complete: true, entries: [] });
    expect(bundle.error).toMatchObject({
      restate_code: "RT0007",
      message: expect.stringMatching(/^cannot open for \*{14} with \*{13}, \*{14}$/),
      stacktrace: expect.stringContaining("bundle.server.test"),
    });
    expect(everything).toContain('"user":"ada"');
    expect(summary).toMatchObject({ entries: 5, redacted: expect.any(Number) });
  },
  TEST_MS,
);

test(
  "rules are changed by flags, and credentials in headers are never in the file",
  async () => {
    const kept = await bundleOf(failing, "--keep", "sessionToken", "--redact", "user");
    expect(everythingIn(kept.text, kept.bundle)).toContain(CANARIES.step);
    expect(everythingIn(kept.text, kept.bundle)).not.toContain('"user":"ada"');

    const all = join(home.path, "all.bundle.json.gz");
    const { exitCode, stderr } = await home.run(["bundle", failing, "--out", all, "--no-redact"]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("secrets included")]);
    const text = gunzipSync(readFileSync(all)).toString();
    const everything = everythingIn(text, parseBundle(text));
    for (const name of ["password", "state", "step"] as const) expect(everything).toContain(CANARIES[name]);
    for (const name of ["header", "cookie"] as const) expect(everything).not.toContain(CANARIES[name]);
  },
  TEST_MS,
);

test(
  "a completed invocation has its failure and its Output",
  async () => {
    const { invocation_id: id } = await home.json<{ invocation_id: string }>(["send", "Account/bob/close"]);
    await eventually("it has ended", async () => ((await world.admin.row(id))?.["status"] === "completed" ? true : undefined));
    const { bundle } = await bundleOf(id, "--keep-other-formats");
    expect(bundle).toMatchObject({
      invocation: { status: "completed", outcome: "failure" },
      error: { code: 410, message: "closed for good" },
      state: { complete: false, entries: [] },
    });
    expect(bundle.journal.entries.at(-1)?.label).toBe("Command: Output");
  },
  TEST_MS,
);

test(
  "more secrets than texts are searched for are counted, and reported",
  async () => {
    const tokens = Array.from({ length: 20_003 }, (_, n) => `canary-${n}-of-many`);
    const response = await fetch(`${world.server.ingressUrl}/Account/many/close/send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ tokens }),
    });
    const { invocationId: id } = (await response.json()) as { invocationId: string };
    const file = join(home.path, "many.bundle.json.gz");
    const { exitCode, stderr } = await home.run(["bundle", id, "--out", file]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("3 secrets are replaced where the name of their field")]);
    const { bundle, text, summary } = await bundleOf(id);
    expect(everythingIn(text, bundle)).not.toContain("-of-many");
    expect([bundle.redaction?.unsearched, summary.unsearched]).toEqual([3, 3]);
  },
  TEST_MS,
);

test("an unknown invocation has no bundle", async () => {
  const { exitCode, stderr } = await home.run(["bundle", failing.replace(/.{4}$/, "0000")]);
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/does not exist|not.*valid/i)]);
});
