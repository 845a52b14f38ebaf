/** One test of `@perdure/testing` for any runner: each suite beside this file passes its own `test` and `equal`. */
import * as restate from "@restatedev/restate-sdk";
import { matchSteps, TestEnvironment } from "../dist/index.mjs";

const orders = restate.workflow({
  name: "Orders",
  handlers: {
    run: async (ctx, items) => {
      await ctx.run("reserve", () => undefined);
      await ctx.sleep({ days: 3 });
      await ctx.run("remind", () => undefined);
      return items;
    },
  },
});

/** `equal(actual, expected)` throws when the two differ. */
export function suite(test, equal) {
  test("a workflow sleeps for three days in no time", async () => {
    await using env = await TestEnvironment.start({ services: [orders] });
    const order = env.client().workflowClient(orders, "o-1");
    await order.workflowSubmit(3);
    equal(await order.workflowAttach(), 3);
    const { pass, message } = matchSteps(await env.journal(order), ["reserve", "sleep 3d", "remind"]);
    equal(pass ? "" : message(), "");
  });

  test("time moves when the test says so, and a lost step executes again", async () => {
    await using env = await TestEnvironment.start({ services: [orders], skipTime: "manual" });
    const crash = env.crashAt({ step: "reserve", when: "before-ack" });
    const order = env.client().workflowClient(orders, "o-1");
    await order.workflowSubmit(3);
    await env.advance({ days: 2 });
    equal(crash.hits, 1);
    equal((await env.journal(order)).steps.length, 2);
    await env.advance({ days: 2 });
    equal((await env.journal(order)).status, "completed");
  });
}
