import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import * as restate from "@restatedev/restate-sdk";
import { EngineActivity } from "../src/time/activity.js";
import { followRequests } from "../src/time/requests-on-the-way.js";
import { DAY_MS, start } from "./started.js";

const naps = restate.service({
  name: "Naps",
  handlers: {
    nap: async (ctx: restate.Context, ms: number) => ctx.sleep(ms),
    greet: async (_ctx: restate.Context) => "hello",
  },
});

test("a request is on its way from its creation until the ingress receives it", async () => {
  const env = await start({ services: [naps], skipTime: "manual" });
  const activity = new EngineActivity();
  using _requests = followRequests(activity, () => env.ingressUrl);
  const answer = fetch(`${env.ingressUrl}/Naps/greet`, { method: "POST" });
  while (activity.requests.size === 0) await delay(1);
  await answer;
  expect(activity.requests.size).toBe(0);
  await fetch(`${env.adminUrl}/health`);
  expect(activity.requests.size).toBe(0);
});

test("handlers do not see the mark of a request", async () => {
  let headers: readonly string[] = [];
  const spy = restate.service({
    name: "Spy",
    handlers: {
      read: async (ctx: restate.Context) => {
        headers = [...ctx.request().headers.keys()];
      },
    },
  });
  const env = await start({ services: [spy] });
  await env.client().serviceClient(spy).read();
  expect(headers).not.toEqual([]);
  expect(headers.filter((name) => name.startsWith("x-perdure-test"))).toEqual([]);
});

test("fifty sleeps of different lengths end in the order of their ends", async () => {
  const env = await start({ services: [naps] });
  const client = env.client();
  const ended: number[] = [];
  const lengths = Array.from({ length: 50 }, (_, index) => ((index * 37) % 50) + 1);
  await Promise.all(
    lengths.map(async (days) => {
      await client.serviceClient(naps).nap(days * DAY_MS);
      ended.push(days);
    }),
  );
  expect(ended).toEqual([...ended].sort((a, b) => a - b));
});
