import { describe, expect, test } from "@jest/globals";
import * as restate from "@restatedev/restate-sdk";
import { DAY_MS, start } from "./started.js";

let balance = 0;
let charges: string[] = [];

const shop = restate.service({
  name: "Shop",
  handlers: {
    careful: async (ctx: restate.Context) => {
      const key = ctx.rand.uuidv4();
      await ctx.run("charge", () => {
        if (!charges.includes(key)) charges.push(key);
      });
      await ctx.sleep(DAY_MS);
      await ctx.run("receipt", () => undefined);
      return charges.length;
    },
    careless: async (ctx: restate.Context) => {
      await ctx.run("charge", () => {
        balance -= 10;
      });
      await ctx.run("receipt", () => undefined);
      return balance;
    },
    random: async (ctx: restate.Context) => {
      await ctx.run(balance++ === 0 ? "first" : "second", () => undefined);
      await ctx.sleep(1000);
      return "done";
    },
  },
});

describe("exploring crashes everywhere", () => {
  test("finds nothing in a handler whose steps may repeat", async () => {
    await using env = await start({ services: [shop] });
    const report = await env.explore(
      async (run) => {
        charges = [];
        return run.client().serviceClient(shop).careful();
      },
      { crashes: "everywhere" },
    );
    expect(report.toString()).not.toContain("crash at");
    expect(report.failures).toEqual([]);
    expect(report.points).toEqual([
      "Shop/careful#1 charge@1 during",
      "Shop/careful#1 charge@1 before-ack",
      "Shop/careful#1 charge@1 after-ack",
      "Shop/careful#1 sleep@1 before-ack",
      "Shop/careful#1 sleep@1 after-ack",
      "Shop/careful#1 receipt@1 during",
      "Shop/careful#1 receipt@1 before-ack",
      "Shop/careful#1 receipt@1 after-ack",
    ]);
    expect(report.runs).toHaveLength(report.points.length);
    const lost = report.runs.find(({ point }) => point.endsWith("charge@1 before-ack"));
    expect(lost?.repeatedSteps).toEqual({ "Shop/careful#1 charge": 2 });
    const stored = report.runs.find(({ point }) => point.endsWith("charge@1 after-ack"));
    expect(stored?.repeatedSteps).toEqual({});
  });

  test("finds the step whose repetition changes the outcome, and one line repeats the case", async () => {
    await using env = await start({ services: [shop] });
    const scenario = async (run: typeof env): Promise<number> => {
      balance = 100;
      return run.client().serviceClient(shop).careless();
    };
    const report = await env.explore(scenario);
    const failing = report.failures.find(({ point }) => point === "Shop/careless#1 charge@1 before-ack");
    expect(failing?.findings).toEqual([{ kind: "outcome-differs", expected: "returned 90", actual: "returned 80" }]);
    expect(failing?.repeat).toBe('await env.explore(scenario, { only: "Shop/careless#1 charge@1 before-ack" })');
    const repeated = await env.explore(scenario, { only: "Shop/careless#1 charge@1 before-ack" });
    expect(repeated.failures).toHaveLength(1);
    expect(repeated.runs).toHaveLength(1);
    expect(`${report}`).toContain("steps that can execute more than once: Shop/careless#1 charge");
  });

  test("finds code that is not deterministic, with its line, and what it leaves behind", async () => {
    await using env = await start({ services: [shop] });
    const report = await env.explore(async (run) => {
      balance = 0;
      return run.client().serviceClient(shop).random();
    });
    const failing = report.failures.find(({ point }) => point === "Shop/random#1 first@1 after-ack");
    expect(failing?.findings.map(({ kind }) => kind)).toEqual(["outcome-differs", "journal-mismatch", "left-behind"]);
    const mismatch = failing?.findings.find((finding) => finding.kind === "journal-mismatch");
    expect(mismatch?.at).toMatch(/explore\.test\.ts(?:\?[^:]*)?:\d+/);
  });

  test("stays within its bounds, and the seed chooses the points", async () => {
    await using env = await start({ services: [shop] });
    const scenario = (run: typeof env): Promise<unknown> => Promise.resolve(run.client().serviceClient(shop).careful());
    const pointsOf = async (seed: number) => {
      const { runs, leftOut } = await env.explore(scenario, { runsMax: 3, seed });
      expect(leftOut).toHaveLength(5);
      return runs.map(({ point }) => point);
    };
    expect(await pointsOf(4)).toEqual(await pointsOf(4));
    expect(await pointsOf(4)).not.toEqual(await pointsOf(5));
    expect((await env.explore(scenario, { timeMsMax: 0 })).runs).toEqual([]);
  });
});
