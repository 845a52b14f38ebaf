/** Management commands against the released server and the published SDK: in this process, and some as one of their own. */

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { catalogue } from "@perdure/base/errors";
import { eventually, SdkEndpoint, TestWorld } from "@perdure/conformance";
import type { CommandResult } from "@perdure/processes";
import { VERSION } from "@perdure/telemetry/version";
import * as restate from "@restatedev/restate-sdk";
import { Home } from "./home.js";
import { cart, remaining, signup, testService } from "./manage-services.js";

/** A dozen commands each, on a machine that may be busy. */
const TEST_MS = 120_000;

let world: TestWorld;
let home: Home;
let address: string;

interface Sent {
  readonly invocation_id: string;
}

const send = async (...args: string[]): Promise<string> => (await home.json<Sent>(["send", ...args])).invocation_id;
const statusOf = async (id: string): Promise<unknown> => (await world.admin.row(id))?.["status"];
const untilStatus = (id: string, status: string): Promise<true> =>
  eventually(`${id} is ${status}`, async () => (await statusOf(id)) === status || undefined);

function expectFailure({ exitCode, stderr }: CommandResult, code: number, ...texts: readonly string[]): void {
  expect([exitCode, ...texts.map((text) => stderr.includes(text) || stderr)]).toEqual([code, ...texts.map(() => true)]);
}

beforeAll(async () => {
  world = await TestWorld.start();
  const addresses = { PERDURE_ADMIN_URL: world.server.adminUrl, PERDURE_INGRESS_URL: world.server.ingressUrl };
  home = await Home.make(addresses, { runsInProcess: true });
  const { endpoint } = await world.deploy({ services: [testService, cart, signup], inactivityMs: 200 });
  address = endpoint.url;
}, TEST_MS);
afterAll(async () => {
  home?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

describe("deployments and services", () => {
  test(
    "are registered after a preview of the changes, and removed only when no invocation needs them",
    async () => {
      const more = restate.service({
        name: "Extra",
        handlers: { one: async () => 1, nap: async (ctx: restate.Context) => await ctx.sleep(600_000) },
      });
      const endpoint = world.own(await SdkEndpoint.start({ services: [more], kind: "h1-request-response" }));
      const dry = await home.run(["deployments", "register", endpoint.url, "--use-http1.1", "--dry-run"]);
      expect([dry.exitCode, dry.stdout, dry.stderr]).toEqual([
        0,
        expect.stringContaining("Nothing was changed"),
        expect.stringContaining("+ Extra (Service): one, nap"),
      ]);
      expect((await home.json<{ services: unknown[] }>(["services", "list"])).services).toHaveLength(3);

      const registered = await home.json<{ id: string; is_new: boolean }>([
        "deployments",
        "register",
        endpoint.url,
        "--use-http1.1",
        "-H",
        "x-a: b",
      ]);
      expect(registered.is_new).toBe(true);
      const shown = await home.run(["deployments", "describe", registered.id]);
      expect(shown.stdout).toMatch(/Runs on it\s+nothing[\s\S]*Extra/);
      expect(shown.stdout).toMatch(/Headers\s+x-a\n/); // Names only: values may be secrets.

      const nap = await send("Extra/nap");
      await untilStatus(nap, "suspended");
      expectFailure(
        await home.run(["deployments", "remove", registered.id, "-y"]),
        1,
        "1 invocation still needs it",
        "Extra/nap",
      );
      expect((await home.run(["invocations", "kill", nap])).exitCode).toBe(0);
      expectFailure(await home.run(["deployments", "remove", registered.id, "-y"]), 1, "it serves Extra");
      expect((await home.run(["deployments", "remove", registered.id, "--force", "-y"])).stdout).toContain("is removed");
      expect((await home.run(["deployments", "list"])).stdout).not.toContain(registered.id);
    },
    TEST_MS,
  );

  test("refusals come with code, advice and the page of the code", async () => {
    const refused = await home.run(["deployments", "register", "http://127.0.0.1:1", "-y"]);
    const page = `https://perdure.dev/docs/v${VERSION}/errors/META0003`;
    expectFailure(refused, 1, "META0003", `More: perdure errors META0003, or ${page}`);
    const register = ["deployments", "register", "127.0.0.1:1", "--json"];
    const asJson = await home.run(register);
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { code: "META0003", docs: page, exitCode: 1 } });
    const elsewhere = await home.run(register, { env: { PERDURE_DOCS_URL: "https://docs.acme.example/" } });
    expect(JSON.parse(elsewhere.stderr).error.docs).toBe("https://docs.acme.example/errors/META0003");
    const away = await home.run(["services", "list"], { env: { PERDURE_ADMIN_URL: "http://127.0.0.1:1" } });
    expectFailure(away, 1, "cannot be reached", "perdure dev");
  });

  test("print the page of each error code without a server", async () => {
    const away = { env: { PERDURE_ADMIN_URL: "http://127.0.0.1:1" } };
    const { errors } = await home.json<{ errors: { code: string }[] }>(["errors"]);
    expect(errors.map(({ code }) => code)).toEqual(Object.keys(catalogue));
    const shown = await home.run(["errors", "meta0003"], away);
    expect([shown.exitCode, shown.stdout]).toEqual([
      0,
      expect.stringMatching(/^# META0003: endpoint.*## What to do\n.* META0014 /s),
    ]);
    expect(shown.stdout).not.toContain(".md");
    expect((await home.run(["--help"], away)).stdout).toContain(`\nDocumentation: https://perdure.dev/docs/v${VERSION}\n`);
    expectFailure(await home.run(["errors", "META9999"], away), 2, "not an error code", "perdure errors lists");
  });

  test("are served by a node that is leader of all partitions", async () => {
    const { nodes, partitions } = await home.json<Record<"nodes" | "partitions", Record<string, unknown>[]>>([
      "cluster",
      "status",
    ]);
    expect(nodes).toEqual([
      { id: expect.any(String), version: VERSION, status: "alive", started_at: expect.any(String), partitions_leading: 24 },
    ]);
    const leading = { status: "leading", leader: nodes[0]?.["id"], epoch: 1, leader_since: expect.any(String) };
    expect(partitions).toEqual(Array.from({ length: 24 }, (_, id) => ({ id, ...leading })));
    const shown = await home.run(["cluster", "status"]);
    expect([shown.exitCode, shown.stderr]).toEqual([0, ""]);
    expect(shown.stdout).toMatch(/^NODE .*\n\S+ +– +\S+ +alive .* 24 \(0-23\)\n\n *PARTITION /);
  });

  test("show how to call them, and take settings", async () => {
    const shown = await home.run(["services", "describe", "Cart"]);
    expect(shown.stdout).toContain(`curl ${world.server.ingressUrl.replace("http://", "")}/Cart/my-key/add --json`);
    const set = await home.json(["services", "config", "set", "Cart", "--idempotency-retention", "2d", "--private"]);
    expect(set).toMatchObject({ public: false, idempotency_retention: "2d" });
    expect(await home.json(["services", "config", "set", "Cart", "--public"])).toMatchObject({
      public: true,
      idempotency_retention: "2d",
    });
    expectFailure(await home.run(["services", "config", "set", "Cart", "--journal-retention", "soon"]), 2, "not a duration");
  });

  test(
    "can be checked against what is suspended",
    async () => {
      const { deployments } = await home.json<{ deployments: { id: string }[] }>(["deployments", "list"]);
      const outcome = await home.json(["deployments", "check", deployments[0]?.id ?? ""]);
      expect(outcome).toMatchObject({ incompatible: 0 });
      const checked = await home.run(["deployments", "register", address, "--force", "--check", "-y"]);
      expect([checked.exitCode, checked.stderr]).toEqual([
        0,
        expect.stringMatching(/= Desk .* unchanged|~ Desk .* the same handlers/),
      ]);
    },
    TEST_MS,
  );
});

describe("what does not exist", () => {
  test.each<[readonly string[], string]>([
    [["state", "get", "Nope", "x"], "The requested service 'Nope' does not exist"],
    [["state", "list", "Nope"], "The requested service 'Nope' does not exist"],
    [["state", "get", "Desk", "x"], "'Desk' has no state: it is a Service"],
    [["promises", "list", "Nope"], "The requested service 'Nope' does not exist"],
    [["promises", "list", "Cart"], "'Cart' has no promises: it is a VirtualObject"],
    [["queues", "describe", "x"], "There is no queue 'x', or nothing is in it"],
  ])("%j fails", async (args, why) => {
    expectFailure(await home.run(args), 1, why);
  });
});

describe("calls", () => {
  test(
    "print what the handler returns, from an argument, stdin or a file",
    async () => {
      expect((await home.run(["call", "Cart/ann/add", "2"])).stdout).toBe("2\n");
      expect((await home.run(["call", "Cart/add", "-", "--key", "ann"], { stdin: "3" })).stdout).toBe("5\n");
      home.write("body.json", "4");
      expect(await home.json(["call", "Cart/ann/add", "-f", "body.json"], { folder: "." })).toMatchObject({
        result: 9,
        invocation_id: expect.stringMatching(/^inv_/),
      });
      const [one, two] = [
        await send("Cart/bob/add", "1", "--idempotency-key", "k"),
        await send("Cart/bob/add", "1", "--idempotency-key", "k"),
      ];
      expect(one).toBe(two);
      expect((await home.run(["invocations", "result", one])).stdout).toBe("1\n");
    },
    TEST_MS,
  );

  test(
    "report the invocation and its failure when they take long, and how to follow it after Ctrl-C",
    async () => {
      remaining.failures = 1_000;
      const call = home.start(["call", "Desk/flaky"]);
      await call.until(/inv_\w+ is [a-z-]+; attempt \d+ failed: .*not yet/);
      call.signal("SIGINT");
      const { exitCode, stderr } = await call.ended;
      const id = /perdure invocations cancel (inv_\w+)/.exec(stderr)?.[1] as string;
      expect([exitCode, stderr]).toEqual([130, expect.stringContaining(`${id} continues in the server`)]);
      expect(stderr).not.toContain("    at "); // The stack trace is left to `perdure invocations describe`.
      remaining.failures = 0;
      await untilStatus(id, "completed");
    },
    TEST_MS,
  );

  test("show the error of a handler that fails, and what is wrong when no handler was called", async () => {
    expectFailure(
      await home.run(["call", "Desk/refuse", '"I am a teapot"']),
      1,
      "[418] I am a teapot",
      "perdure invocations describe inv_",
    );
    expectFailure(await home.run(["call", "Desk/refuse", "teapot"]), 2, "not valid JSON", `'"teapot"'`);
    expectFailure(await home.run(["call", "Nobody/home"]), 1, "'Nobody' not found");
    expectFailure(await home.run(["call", "nothing"]), 2, "names no handler");
  });
});

describe("invocations", () => {
  test(
    "are watched until their end: steps, sleeps, attempts that fail",
    async () => {
      remaining.failures = 2;
      const id = await send("Desk/flaky");
      const watched = await home.run(["invocations", "watch", id]);
      expect(watched.exitCode).toBe(0);
      for (const line of [
        /✔ Run 'before'/,
        /attempt \d failed: RT0007 \[500\] not yet/,
        /backing off, waits for retry/,
        /completed\n✔ "at last"/,
      ]) {
        expect(watched.stdout).toMatch(line);
      }
      const slept = await send("Desk/work", "400");
      const lines = (await home.run(["invocations", "watch", slept, "--json"])).stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { kind: string; step?: { type: string } });
      expect(lines.filter(({ step }) => step?.type === "Sleep").map(({ kind }) => kind)).toContain("step_ended");
      expect(lines.at(-1)).toMatchObject({ kind: "ended" });

      const refused = await send("Desk/refuse", '"no"');
      expectFailure(await home.run(["invocations", "watch", refused]), 1, "The invocation failed: [418] no");
      const described = await home.run(["invocations", "describe", slept, "--payloads"]);
      expect(described.stdout).toMatch(/took [\s\S]*✔ Run 'second'[\s\S]*out \{"first":"done"\}/);
      const logged = await home.run(["logs", slept, "--follow"]);
      expect(logged.stdout).toMatch(/Command: Input[\s\S]*Command: Run 'first'[\s\S]*Command: Sleep[\s\S]*Command: Output/);
    },
    TEST_MS,
  );

  test(
    "are cut off in the middle, and continue",
    async () => {
      const id = await send("Desk/hang");
      await eventually("its step has begun", () => remaining.hangs === 0 || undefined);
      const { exitCode, stdout } = await home.run(["invocations", "crash", id]);
      expect([exitCode, stdout]).toEqual([
        0,
        expect.stringMatching(/: attempt 1 was cut off with (1 entry|2 entries) in the journal/),
      ]);
      expect((await home.run(["invocations", "result", id])).stdout).toContain("free");
      expectFailure(await home.run(["invocations", "crash", id]), 1, "completed");
    },
    TEST_MS,
  );

  test(
    "are explained, with commands that would move them",
    async () => {
      const id = await send("Desk/work", "600000");
      await untilStatus(id, "suspended");
      const { stdout } = await home.run(["explain", id]);
      expect(stdout).toMatch(/^Desk\/work {2}suspended\n/);
      expect(stdout).toContain(`perdure invocations cancel ${id}`);
      expect((await home.run(["invocations", "cancel", id])).stdout).toMatch(/is (cancelled|being cancelled)/);
      await untilStatus(id, "completed");
      const restarted = await home.json<{ new_invocation_id: string }>(["invocations", "restart", id, "--from", "1"]);
      await untilStatus(restarted.new_invocation_id, "suspended");
      expect((await home.run(["invocations", "kill", restarted.new_invocation_id])).exitCode).toBe(0);
      expectFailure(await home.run(["invocations", "kill", id]), 1, "already completed");
    },
    TEST_MS,
  );

  test(
    "are selected by many flags; nothing changes before confirmation, and no value becomes SQL",
    async () => {
      const ids = await Promise.all([1, 2, 3].map(() => send("Cart/hold/hold", "600000")));
      // One holds the object, whichever came first; the others wait for it.
      await eventually("one runs", async () => (await Promise.all(ids.map(statusOf))).includes("suspended"));
      const listed = await home.json<{ invocations: { id: string }[] }>([
        "invocations",
        "list",
        "--key",
        "hold",
        "--status",
        "suspended,pending,ready,running",
      ]);
      expect(listed.invocations.map(({ id }) => id).sort()).toEqual([...ids].sort());

      for (const hostile of ["' OR '1'='1", "x') OR (1=1", "'; DROP TABLE x; --"]) {
        expect(await home.json(["invocations", "kill", "--key", hostile, "--dry-run"])).toMatchObject({ matched: 0 });
      }
      expectFailure(await home.run(["invocations", "kill", "--key", "hold", "--where", "1=1) OR (1=1"]), 2, "parentheses");
      expectFailure(await home.run(["invocations", "kill"]), 2, "Which invocations?");

      expect(await home.json(["invocations", "kill", "--key", "hold", "--dry-run"])).toMatchObject({ dry_run: true, matched: 3 });
      expectFailure(await home.run(["invocations", "kill", "--key", "hold"]), 2, "kill 3 invocations?", "--yes");
      expect(await Promise.all(ids.map(statusOf))).not.toContain("completed");

      const killed = await home.json(["invocations", "kill", "--key", "hold", "-y", "--reason", "a test"]);
      expect(killed).toMatchObject({ state: "finished", matched: 3, succeeded: 3, failures: [] });
      expect((await home.run(["invocations", "batches", "list"])).stdout).toContain("a test");
      const again = await home.run(["invocations", "kill", ...ids, "-y"]);
      expectFailure(again, 1, "3 of 3 invocations were refused");
      expect(again.stdout).toContain("was already completed");
      // One that was killed before its start is deleted at once: those that wait, when they are killed before the one that holds the object.
      const kept = (await Promise.all(ids.map((id) => world.admin.row(id)))).filter((row) => row !== undefined).length;
      expect(kept).toBeGreaterThan(0);
      expect(await home.json(["invocations", "purge", "--key", "hold", "-y"])).toMatchObject({ matched: kept, succeeded: kept });
      expect(await world.admin.row(ids[0] ?? "")).toBeUndefined();
    },
    TEST_MS,
  );
});
