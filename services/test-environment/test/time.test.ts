import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import * as restate from "@restatedev/restate-sdk";
import { rpc } from "@restatedev/restate-sdk-clients";
import { DAY_MS, expectSteps, start } from "./started.js";

const executed: string[] = [];

const orders = restate.workflow({
  name: "Orders",
  handlers: {
    run: async (ctx: restate.WorkflowContext, { items }: { items: number }) => {
      await ctx.run("reserve", () => void executed.push("reserve"));
      await ctx.sleep({ days: 3 });
      await ctx.run("send reminder", () => void executed.push("reminder"));
      await ctx.sleep({ days: 362 });
      return items;
    },
  },
});

const naps = restate.service({
  name: "Naps",
  handlers: {
    nap: async (ctx: restate.Context, ms: number) => {
      await ctx.sleep(ms);
      return "rested";
    },
    work: (ctx: restate.Context, ms: number) => ctx.run("work", () => delay(ms).then(() => "worked")),
    wait: async (ctx: restate.Context) => ctx.awakeable<string>().promise,
  },
});

const moody = restate.service({
  name: "Moody",
  handlers: {
    fail: async (ctx: restate.Context, { times }: { times: number }) =>
      ctx.run("try", () => {
        executed.push("try");
        if (executed.length <= times) throw new Error("not yet");
        return executed.length;
      }),
  },
  options: { retryPolicy: { initialInterval: { hours: 1 }, maxInterval: { hours: 8 }, maxAttempts: 50 } },
});

describe("time that stands still until the test moves it", () => {
  test("steps behind a sleep run once time has passed it, and not before", async () => {
    executed.length = 0;
    const env = await start({ services: [orders], skipTime: "manual" });
    const order = env.client().workflowClient(orders, "o-1");
    await order.workflowSubmit({ items: 3 });
    await env.advance({ days: 2, hours: 23, minutes: 59 });
    expect(executed).toEqual(["reserve"]);
    await env.advance({ minutes: 1 });
    expect(executed).toEqual(["reserve", "reminder"]);
    expectSteps(await env.journal(order)).toMatchSteps(["reserve", "sleep 3d", /remind/, "sleep 362d"]);
  });

  test("does not pass by itself", async () => {
    const env = await start({ services: [naps], skipTime: "manual" });
    const { invocationId } = await env.client().serviceSendClient(naps).nap(60_000);
    await delay(50);
    expect((await env.journal(invocationId)).status).not.toBe("completed");
    await env.advance({ minutes: 1 });
    expect((await env.journal(invocationId)).status).toBe("completed");
  });

  test("advanceTo goes to a moment, and never back", async () => {
    const env = await start({ services: [naps], skipTime: "manual", startAt: new Date("2030-01-01T00:00:00Z") });
    await env.advanceTo(new Date("2031-06-01T12:00:00Z"));
    expect(env.now()).toEqual(new Date("2031-06-01T12:00:00Z"));
    await expect(env.advanceTo(new Date("2031-01-01"))).rejects.toThrow("time does not go back");
  });

  test("a delayed call starts at its time", async () => {
    const env = await start({ services: [naps], skipTime: "manual" });
    const { invocationId } = await env
      .client()
      .serviceSendClient(naps)
      .work(0, rpc.sendOpts({ delay: { days: 2 } }));
    await env.advance({ days: 1 });
    expect((await env.journal(invocationId)).status).toBe("scheduled");
    await env.advance({ days: 1 });
    expectSteps(await env.journal(invocationId)).toMatchSteps(["work"]);
  });

  test("what is beyond its retention is gone", async () => {
    const env = await start({ services: [naps], skipTime: "manual" });
    const { invocationId } = await env.client().serviceSendClient(naps).work(0);
    await env.advance({ hours: 23 });
    expect((await env.journal(invocationId)).status).toBe("completed");
    await env.advance({ hours: 8 });
    await expect(env.journal(invocationId)).rejects.toThrow("its retention is over");
  });

  test("a schedule fires at each of its times", async () => {
    executed.length = 0;
    const env = await start({ services: [naps, moody], skipTime: "manual", startAt: new Date("2030-01-01T00:30:00Z") });
    const schedule = { name: "hourly", cron: "0 * * * *", target: { service: "Moody", handler: "fail" }, payload: { times: 0 } };
    const response = await fetch(`${env.adminUrl}/schedules`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(schedule),
    });
    expect(`${response.status} ${await response.text()}`).toMatch(/^201/);
    await env.advance({ hours: 5 });
    expect(executed).toHaveLength(5);
  });
});

describe("time that jumps by itself", () => {
  test("a workflow of a year completes at once", async () => {
    const env = await start({ services: [orders] });
    const beganMs = env.now().getTime();
    const order = env.client().workflowClient(orders, "o-1");
    await order.workflowSubmit({ items: 3 });
    expect(await order.workflowAttach()).toBe(3);
    expect(env.now().getTime() - beganMs).toBeGreaterThan(365 * DAY_MS - 1000);
  });

  test("the pauses between retries pass at once", async () => {
    executed.length = 0;
    const env = await start({ services: [moody] });
    const beganMs = env.now().getTime();
    expect(await env.client().serviceClient(moody).fail({ times: 10 })).toBe(11);
    expect(env.now().getTime() - beganMs).toBeGreaterThan(2 * DAY_MS);
  });

  test("does not jump while a handler works", async () => {
    const env = await start({ services: [naps] });
    const client = env.client();
    const beganMs = env.now().getTime();
    const working = client.serviceClient(naps).work(300);
    await client.serviceSendClient(naps).nap(10 * DAY_MS);
    await delay(150);
    expect(env.now().getTime() - beganMs).toBeLessThan(DAY_MS);
    expect(await working).toBe("worked");
    await env.idle();
  });

  test("does not jump when an invocation waits for something else than time", async () => {
    const env = await start({ services: [naps] });
    const beganMs = env.now().getTime();
    await env.client().serviceSendClient(naps).wait();
    await delay(100);
    expect(env.now().getTime() - beganMs).toBeLessThan(60_000);
  });
});

test("time passes as it does with skipTime false", async () => {
  const env = await start({ services: [naps], skipTime: false });
  const beganMs = performance.now();
  expect(await env.client().serviceClient(naps).nap(120)).toBe("rested");
  expect(performance.now() - beganMs).toBeGreaterThan(110);
});
