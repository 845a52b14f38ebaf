/** `Running` means that clients are let in: pods that are ready are not enough while a connection to the Service is refused. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { conditionOf, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

let world: World;
const open = new Set([8080]);

beforeAll(async () => {
  world = await World.start();
  world.startOperator({}, undefined, {
    frontProber: { connect: async (_host, port) => (open.has(port) ? "accepted" : "refused") },
  });
}, FIRST_MS);
afterAll(() => world?.[Symbol.asyncDispose](), TEST_MS);

test(
  "an environment whose management port refuses connections is not Running, and is as soon as one is accepted",
  async () => {
    const { metadata } = await world.create();
    const refused = await world.until(metadata.name, (one) => conditionOf(one, "Routable")?.reason === "FrontUnreachable");
    expect(conditionOf(refused, "Routable")?.message).toContain("at port 9070");
    expect(refused.status?.phase).not.toBe("Running");
    expect(conditionOf(refused, "WorkersReady")).toBeDefined();
    open.add(9070);
    const ready = await world.until(metadata.name, (one) => one?.status?.phase === "Running");
    expect(conditionOf(ready, "Routable")).toMatchObject({ status: "True", reason: "Ready" });
  },
  TEST_MS,
);
