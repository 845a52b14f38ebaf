import { describe, expect, test } from "@jest/globals";
import * as restate from "@restatedev/restate-sdk";
import { DAY_MS, expectSteps, logged, start } from "./started.js";

let executed: string[] = [];

const payments = restate.service({
  name: "Payments",
  handlers: {
    pay: async (ctx: restate.Context, amount: number) => {
      executed.push("attempt");
      await ctx.run("charge", () => void executed.push("charge"));
      await ctx.run("receipt", () => void executed.push("receipt"));
      return amount;
    },
    sloppy: async (ctx: restate.Context) => {
      executed.push("attempt");
      const name = executed.length === 1 ? "first" : "other";
      await ctx.run(name, () => undefined);
      await ctx.sleep(DAY_MS);
      return name;
    },
    careful: async (ctx: restate.Context) => {
      try {
        await ctx.run("charge", () => "charged");
        return "charged";
      } catch (error) {
        return error instanceof restate.TerminalError ? `refused: ${error.message}` : "unknown";
      }
    },
    broken: async (_ctx: restate.Context) => {
      throw new restate.TerminalError("no such account");
    },
  },
});

describe("faults at a step", () => {
  test("a crash before the acknowledgement executes the step again", async () => {
    executed = [];
    const env = await start({ services: [payments] });
    const fault = env.crashAt({ step: "charge", when: "before-ack" });
    expect(await env.client().serviceClient(payments).pay(7)).toBe(7);
    expect(fault.hits).toBe(1);
    expect(executed).toEqual(["attempt", "charge", "attempt", "charge", "receipt"]);
  });

  test("a crash after the acknowledgement does not", async () => {
    executed = [];
    const env = await start({ services: [payments] });
    const fault = env.crashAt({ step: "charge", when: "after-ack", service: "Payments", handler: "pay" });
    expect(await env.client().serviceClient(payments).pay(7)).toBe(7);
    expect(fault.hits).toBe(1);
    expect(executed.filter((one) => one === "charge")).toEqual(["charge"]);
    expect(executed.filter((one) => one === "attempt")).toHaveLength(2);
  });

  test("crashes as often as requested, and at no other step", async () => {
    executed = [];
    const env = await start({ services: [payments] });
    env.crashAt({ step: "receipt", when: "before-ack", times: 3 });
    const elsewhere = env.crashAt({ step: "receipt", when: "before-ack", service: "Other" });
    await env.client().serviceClient(payments).pay(7);
    expect(executed.filter((one) => one === "receipt")).toHaveLength(4);
    expect(executed.filter((one) => one === "charge")).toHaveLength(1);
    expect(elsewhere.hits).toBe(0);
  });

  test("a step that fails is retried, and a terminal failure reaches the handler", async () => {
    executed = [];
    const env = await start({ services: [payments] });
    env.failStep({ step: "charge", message: "the bank is closed", times: 2 });
    expect(await env.client().serviceClient(payments).pay(7)).toBe(7);
    expect(executed.filter((one) => one === "charge")).toHaveLength(3);
    env.failStep({ step: "charge", message: "no money", terminalCode: 402 });
    expect(await env.client().serviceClient(payments).careful()).toBe("refused: no money");
  });

  test("a slow step takes time of the environment", async () => {
    executed = [];
    const env = await start({ services: [payments] });
    env.slowStep({ step: "charge", by: { seconds: 50 } });
    const beganMs = env.now().getTime();
    expect(await env.client().serviceClient(payments).pay(7)).toBe(7);
    expect(env.now().getTime() - beganMs).toBeGreaterThanOrEqual(50_000);
    expect(executed).toEqual(["attempt", "charge", "receipt"]);
  });

  test("a step slower than the timeouts of its service is aborted and retried", async () => {
    executed = [];
    const env = await start({ services: [payments] });
    const fault = env.slowStep({ step: "charge", by: { hours: 20 } });
    expect(await env.client().serviceClient(payments).pay(7)).toBe(7);
    expect(fault.hits).toBe(1);
    expect(executed.filter((one) => one === "charge")).toHaveLength(2);
  });

  test("a dropped connection is a new attempt", async () => {
    executed = [];
    const env = await start({ services: [payments], skipTime: "manual" });
    env.slowStep({ step: "charge", by: { hours: 1 } });
    const { invocationId } = await env.client().serviceSendClient(payments).pay(7);
    await env.idle();
    expect(env.dropConnection({ service: "Other" })).toBe(0);
    expect(env.dropConnection()).toBe(1);
    await env.advance({ minutes: 1 });
    expectSteps(await env.journal(invocationId)).toMatchSteps(["charge", "receipt"]);
    expect(executed.filter((one) => one === "attempt")).toHaveLength(2);
  });
});

test("alwaysReplay suspends at every await", async () => {
  executed = [];
  const env = await start({ services: [payments], alwaysReplay: true });
  expect(await env.client().serviceClient(payments).pay(7)).toBe(7);
  expect(executed.filter((one) => one === "attempt").length).toBeGreaterThanOrEqual(3);
  expect(executed.filter((one) => one !== "attempt")).toEqual(["charge", "receipt"]);
});

test("alwaysReplay finds code that is not deterministic", async () => {
  executed = [];
  const env = await start({ services: [payments], alwaysReplay: true, skipTime: "manual" });
  await env.client().serviceSendClient(payments).sloppy();
  await env.idle();
  expect(env.engineLog.join("\n")).toContain("RT0016");
});

test("the error of a handler is in the test's output with its stack", async () => {
  const env = await start({ services: [payments] });
  await expect(env.client().serviceClient(payments).broken()).rejects.toThrow("no such account");
  expect(logged.join("\n")).toMatch(/no such account[\s\S]*faults\.test\.ts/);
});
