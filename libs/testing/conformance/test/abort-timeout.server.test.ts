/** What a handler sees that is slower than its abort timeout, by the published SDK. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Context, handlers, service } from "@restatedev/restate-sdk";
import { eventually, TestWorld } from "../src/index.js";

let world: TestWorld;
let slow: PromiseWithResolvers<void>;
let events: string[];

const options = { inactivityTimeout: 0, abortTimeout: 1, retryPolicy: { maxAttempts: 1, onMaxAttempts: "kill" } } as const;
const abort = service({
  name: "Abort",
  handlers: {
    beforeFirstCommand: handlers.handler(options, async (ctx: Context) => {
      events.push("began");
      await slow.promise;
      return ctx.run("after the wait", () => void events.push("ran"));
    }),
  },
});

beforeAll(async () => {
  slow = Promise.withResolvers();
  events = [];
  world = await TestWorld.start();
  await world.deploy({ services: [abort] });
});
afterAll(() => world[Symbol.asyncDispose]());

test("a handler that comes to its first command after the abort timeout runs it, though its invocation has failed", async () => {
  const { invocationId } = await world.ingress.send(["Abort", "beforeFirstCommand"]);
  await eventually("the attempt was given up", async () => {
    const row = await world.admin.row(invocationId);
    return String(row?.["completion_failure"]).includes("no message from the handler");
  });
  slow.resolve();
  // On a stream that was cut the step would not begin.
  await eventually("the step was run", () => events.length > 1);
  expect(events).toEqual(["began", "ran"]);
});
