/** Commands for what handlers keep and wait for, SQL, schedules, events and rules. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, TestWorld } from "@perdure/conformance";
import type { CommandResult } from "@perdure/processes";
import { Home } from "./home.js";
import { cart, signup, testService } from "./manage-services.js";

/** A dozen commands each, on a machine that may be busy. */
const TEST_MS = 120_000;

let world: TestWorld;
let home: Home;

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
  await world.deploy({ services: [testService, cart, signup], inactivityMs: 200 });
}, TEST_MS);
afterAll(async () => {
  home?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

describe("what handlers keep and wait for", () => {
  test(
    "state is changed against the version that was read",
    async () => {
      expect(await home.json(["state", "set", "Cart", "carl", "sum", "40"])).toMatchObject({ applied: true, state: { sum: 40 } });
      expect((await home.run(["call", "Cart/carl/add", "2"])).stdout).toBe("42\n");
      const { version } = await home.json<{ version: string }>(["state", "get", "Cart", "carl"]);
      await home.json(["state", "set", "Cart", "carl", "note", "a 'text'", "--raw"]);
      expectFailure(await home.run(["state", "set", "Cart", "carl", "sum", "1", "--expect", version]), 1, "has version");
      expect((await home.run(["state", "get", "Cart", "carl", "note"])).stdout).toBe("a 'text'\n");
      expectFailure(await home.run(["state", "edit", "Cart", "carl"]), 2, "cannot open an editor");
      expectFailure(await home.run(["state", "clear", "Cart", "carl", "nothing"]), 1, "It has: note, sum");
      expect(await home.json(["state", "clear", "Cart", "carl", "note", "-y"])).toMatchObject({ state: { sum: 42 } });
      expect(await home.json(["state", "list", "Cart"])).toMatchObject({
        keys: expect.arrayContaining([{ key: "carl", entries: 1, bytes: 2 }]),
      });
    },
    TEST_MS,
  );

  test(
    "an edit waits for a running handler, and the command reports it",
    async () => {
      const id = await send("Cart/dora/hold", "600000");
      await untilStatus(id, "suspended");
      const waiting = await home.run(["state", "set", "Cart", "dora", "sum", "7"]);
      expect([waiting.exitCode, waiting.stderr]).toEqual([
        0,
        expect.stringContaining("waits for invocations that run on Cart/dora"),
      ]);
      await home.run(["invocations", "kill", id]);
      await eventually(
        "it is applied",
        async () => (await home.json<{ state: unknown }>(["state", "get", "Cart", "dora"])).state !== undefined,
      );
    },
    TEST_MS,
  );

  test(
    "awakeables are answered, promises of workflows shown",
    async () => {
      const [resolved, rejected] = [await send("Desk/ask"), await send("Desk/ask")];
      const idOf = (id: string): Promise<string> =>
        eventually("it waits", async () => {
          const { timeline } = await home.json<{
            timeline: { steps: { name: string; result: string; result_payload?: { text: string } | null }[] };
          }>(["invocations", "describe", id, "--payloads"]);
          const step = timeline.steps.find(({ name, result }) => name === "tell" && result === "success");
          return step === undefined ? undefined : (JSON.parse(step.result_payload?.text ?? "null") as string);
        });
      await home.json(["awakeables", "resolve", await idOf(resolved), '"yes"']);
      await home.json(["awakeables", "reject", await idOf(rejected), "no way"]);
      expect((await home.run(["invocations", "result", resolved])).stdout).toBe('"yes"\n');
      expectFailure(await home.run(["invocations", "result", rejected]), 1, "no way");

      await send("Signup/eve/run");
      expect(
        await eventually("it waits", async () => {
          const { stdout } = await home.run(["promises", "list", "Signup", "eve"]);
          return stdout.includes("pending") && stdout;
        }),
      ).toContain("confirmed");
      await home.run(["call", "Signup/eve/confirm"]);
      expect((await home.run(["promises", "list", "Signup"])).stdout).toMatch(/eve\s+confirmed\s+resolved\s+"yes"/);
    },
    TEST_MS,
  );
});

describe("SQL, schedules, events and rules", () => {
  test(
    "a webhook is shown without what may be a credential, and its old secret can be ended",
    async () => {
      const to = "https://hooks.example/services/T0AAAAAAA/x7KdPq9Zl2?token=s3cr3t";
      const { id } = await home.json<{ id: string }>(["events", "subscribe", "--on", "invocation.failed", "--to", to]);
      const shown = "https://hooks.example/services/***?token=***";
      const texts = [await home.run(["events", "list"]), await home.run(["events", "describe", id])].map(({ stdout }) => stdout);
      for (const text of texts) {
        expect(text).toContain(shown);
        expect(text).not.toMatch(/x7KdPq9Zl2|s3cr3t/);
      }
      expectFailure(await home.run(["events", "subscribe", "--on", "invocation.failed", "--to", shown]), 1, "META0103");
      expect((await home.run(["events", "rotate-secret", id])).stderr).toContain(`perdure events revoke-old-secret ${id}`);
      expect((await home.run(["events", "describe", id])).stdout).toContain("2 are valid");
      expectFailure(await home.run(["events", "revoke-old-secret", id]), 2, "--yes");
      expect(await home.json(["events", "revoke-old-secret", id, "-y"])).toMatchObject({ id, secret_count: 1 });
      expect((await home.run(["events", "delete", id, "-y"])).stdout).toContain("has ended");
    },
    TEST_MS,
  );

  test("rows come as a table, CSV or JSON; from stdin too", async () => {
    const statement = "SELECT name, public FROM sys_service WHERE name = 'Cart'";
    expect((await home.run(["sql", statement])).stdout).toMatch(/^name\s+public\nCart\s+true\n$/);
    expect((await home.run(["sql", statement, "--csv"])).stdout).toBe("name,public\nCart,true\n");
    expect(JSON.parse((await home.run(["sql", "-", "--json"], { stdin: statement })).stdout)).toEqual({
      rows: [{ name: "Cart", public: true }],
    });
    expectFailure(await home.run(["sql", "DELETE FROM state"]), 1, "only statements that read");
    expectFailure(await home.run(["sql"]), 2, "A statement is missing");
  });

  test(
    "schedules live by their names",
    async () => {
      const made = await home.json([
        "schedules",
        "create",
        "nightly",
        "30 2 * * *",
        "Cart/ann/add",
        "1",
        "--zone",
        "Europe/Berlin",
        "--catch-up",
        "none",
      ]);
      expect(made).toMatchObject({
        name: "nightly",
        target: { service: "Cart", handler: "add", key: "ann" },
        payload: 1,
        catch_up: "none",
      });
      expect((await home.json<{ next: unknown[] }>(["schedules", "next", "nightly", "-n", "2"])).next).toHaveLength(2);
      const { invocation_id } = await home.json<{ invocation_id: string }>(["schedules", "run", "nightly"]);
      await untilStatus(invocation_id, "completed");
      const range = ["schedules", "backfill", "nightly", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-04T00:00:00Z"];
      expect(await home.json([...range, "--dry-run"])).toMatchObject({ dry_run: true, count: 3, new_count: 3 });
      expectFailure(await home.run(range), 2, "--yes");
      const { stdout, stderr } = await home.run([...range, "-y"]);
      expect(stdout.match(/2026-01-0[123].*new.*inv_/g)).toHaveLength(3);
      expect(stderr).toContain("3 times called, 0 already ran");
      expect(await home.json([...range, "-y"])).toMatchObject({ new_count: 0, already_ran_count: 3 });
      expectFailure(await home.run([...range.slice(0, 4), "1990-01-01T00:00:00Z", "-y"]), 1, "META0104");
      expect(await home.json(["schedules", "pause", "nightly"])).toMatchObject({ status: "paused" });
      expect((await home.run(["schedules", "list"])).stdout).toMatch(/nightly\s+paused/);
      expectFailure(await home.run(["schedules", "create", "bad", "61 * * * *", "Cart/ann/add"]), 1, "META0100");
      expect((await home.run(["schedules", "delete", "nightly", "-y"])).stdout).toContain("has ended");
      expectFailure(await home.run(["schedules", "describe", "nightly"]), 1, "no schedule 'nightly'");
    },
    TEST_MS,
  );

  test(
    "changing the rate of a rule does not lift its limit",
    async () => {
      expect(await home.json(["rules", "set", "acme/*", "--concurrency", "2", "--new"])).toMatchObject({
        limits: { concurrency: 2 },
      });
      expect(await home.json(["rules", "set", "acme/*", "--rate", "100/1m", "--burst", "5"])).toMatchObject({
        limits: { concurrency: 2, rate: { limit: 100, per: "1m", burst: 5 } },
      });
      expectFailure(await home.run(["rules", "set", "acme/*", "--concurrency", "3", "--new"]), 1, "acme/*");
      expect((await home.run(["rules", "list"])).stdout).toMatch(/acme\/\*\s+2\s+100 per/);
      expect(await home.json(["rules", "disable", "acme/*"])).toMatchObject({
        disabled: true,
        limits: { concurrency: 2, rate: { limit: 100 } },
      });
      expect(await home.json(["rules", "remove", "acme/*", "-y"])).toEqual({ removed: ["acme/*"] });
      expect((await home.run(["queues", "list"])).exitCode).toBe(0);
      expectFailure(await home.run(["rules", "enable", "acme/*"]), 1, "no rule 'acme/*'");
    },
    TEST_MS,
  );

  test(
    "a deletion names the command that undoes it",
    async () => {
      await home.json(["rules", "set", "brief/*", "--concurrency", "1", "--new"]);
      const removed = await home.run(["rules", "remove", "brief/*", "-y"]);
      const [, operation = ""] = /^Undo it within (?:10m|9m \d+s): perdure undo (op_\w+)$/m.exec(removed.stderr) ?? [];
      expect((await home.run(["undo", operation])).exitCode).toBe(0);
      expect((await home.run(["rules", "list"])).stdout).toContain("brief/*");
      await home.json(["kafka-clusters", "create", "brief", "-o", "bootstrap.servers=127.0.0.1:1"]);
      const to = ["--on", "invocation.failed", "--to", "https://hooks.example/brief"];
      const { id } = await home.json<{ id: string }>(["events", "subscribe", ...to]);
      for (const [group, subject] of [
        ["kafka-clusters", "brief"],
        ["events", id],
      ] as const) {
        const { stderr } = await home.run([group, "delete", subject, "-y"]);
        const [, undoable = ""] = /^Undo it within .+: perdure undo (op_\w+)$/m.exec(stderr) ?? [];
        expect((await home.run(["undo", undoable])).exitCode).toBe(0);
        expect((await home.run([group, "describe", subject])).exitCode).toBe(0);
        await home.run([group, "delete", subject, "-y"]);
      }
    },
    TEST_MS,
  );

  test(
    "Kafka clusters are created and shown without their secrets",
    async () => {
      await home.json(["kafka-clusters", "create", "events", "-o", "bootstrap.servers=127.0.0.1:1", "-o", "sasl.password=hush"]);
      const shown = await home.run(["kafka-clusters", "describe", "events"]);
      expect([shown.stdout.includes("127.0.0.1:1"), shown.stdout.includes("hush")]).toEqual([true, false]);
      const made = await home.json<{ id: string }>(["subscriptions", "create", "kafka://events/orders", "service://Desk/work"]);
      expect(await home.json(["subscriptions", "pause", made.id])).toMatchObject({ paused: true });
      expect((await home.run(["subscriptions", "list"])).stdout).toMatch(/paused[\s\S]*kafka:\/\/events\/orders/);
      expect((await home.run(["subscriptions", "delete", made.id, "-y"])).exitCode).toBe(0);
      expect((await home.run(["kafka-clusters", "delete", "events", "-y"])).exitCode).toBe(0);
    },
    TEST_MS,
  );
});
