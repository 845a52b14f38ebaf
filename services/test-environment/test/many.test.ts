import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import * as restate from "@restatedev/restate-sdk";
import { TestEnvironment } from "../src/index.js";

const greeter = restate.service({
  name: "Greeter",
  handlers: {
    greet: async (ctx: restate.Context, name: string) => {
      await ctx.sleep({ days: 30 });
      return `Hello ${name}`;
    },
  },
});

test("a hundred environments in one run leave nothing behind", async () => {
  for (let round = 0; round < 100; round++) {
    await using env = await TestEnvironment.start({ services: [greeter] });
    expect(await env.client().serviceClient(greeter).greet(`${round}`)).toBe(`Hello ${round}`);
  }
  await nextTurn();
  expect(process.getActiveResourcesInfo().filter((kind) => kind === "TCPServerWrap")).toEqual([]);
});

test("environments beside each other share nothing", async () => {
  await using first = await TestEnvironment.start({ services: [greeter], skipTime: "manual" });
  await using second = await TestEnvironment.start({ services: [greeter] });
  const { invocationId } = await first.client().serviceSendClient(greeter).greet("a");
  expect(await second.client().serviceClient(greeter).greet("b")).toBe("Hello b");
  expect((await first.journal(invocationId)).status).not.toBe("completed");
  await expect(second.journal(invocationId)).rejects.toThrow("No invocation");
});
