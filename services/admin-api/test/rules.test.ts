/** Rates, weights and priorities of rules are our extension, so there are no recordings of them. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createTestRegistry } from "@perdure/registry/testing";
import { createTestAdminApi, startServer, type TestServer } from "../src/testing/index.js";

let server: TestServer;

beforeAll(async () => {
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry({ nowMs: () => 1000 }) }));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function put(rule: object): Promise<unknown> {
  const answer = await server.send("PUT", "/limits/rules", [rule]);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  const [shown] = answer.json<{ version: number; last_modified_millis_since_epoch: number }[]>();
  const { version: _version, last_modified_millis_since_epoch: _modified, ...rest } = shown!;
  return rest;
}

describe("a rule's rate, weight and priority", () => {
  test("are shown as they were given, with the limit as the default burst", async () => {
    const given = {
      pattern: "s/*",
      limits: { concurrency: 5, rate: { limit: 100, per: "1 minute", burst: 10 } },
      weight: 3,
      priority: 2,
    };
    expect(await put(given)).toEqual({
      pattern: "s/*",
      limits: { concurrency: 5, rate: { limit: 100, per: "1m", burst: 10 } },
      disabled: false,
      weight: 3,
      priority: 2,
    });
    expect(await put({ pattern: "t", limits: { rate: { limit: 7, per: "PT1H" } } })).toEqual({
      pattern: "t",
      limits: { rate: { limit: 7, per: "1h", burst: 7 } },
      disabled: false,
    });
  });

  test("stay when they are left out, as the official command line does, and go with null", async () => {
    await put({ pattern: "u", limits: { rate: { limit: 1, per: "1s" } }, weight: 2, priority: 1 });
    expect(await put({ pattern: "u", limits: { concurrency: 9 }, disabled: true })).toEqual({
      pattern: "u",
      limits: { concurrency: 9, rate: { limit: 1, per: "1s", burst: 1 } },
      disabled: true,
      weight: 2,
      priority: 1,
    });
    expect(await put({ pattern: "u", limits: { rate: null }, weight: null, priority: null })).toEqual({
      pattern: "u",
      limits: {},
      disabled: false,
    });
  });

  test.each([
    [{ limits: { rate: { limit: 0, per: "1s" } } }, "[0].limits.rate.limit: expected a whole number from 1 to 1000000"],
    [{ limits: { rate: { limit: 1.5, per: "1s" } } }, "[0].limits.rate.limit: expected a whole number from 1 to 1000000"],
    [{ limits: { rate: { limit: 1_000_001, per: "1s" } } }, "[0].limits.rate.limit: expected a whole number from 1 to 1000000"],
    [{ limits: { rate: { limit: "1", per: "1s" } } }, "[0].limits.rate.limit: expected a whole number from 1 to 1000000"],
    [{ limits: { rate: { limit: 1, per: "0s" } } }, "[0].limits.rate.per: expected a duration from 1ms to 31d"],
    [{ limits: { rate: { limit: 1, per: "32d" } } }, "[0].limits.rate.per: expected a duration from 1ms to 31d"],
    [{ limits: { rate: { limit: 1, per: "soon" } } }, "[0].limits.rate.per: expected a duration from 1ms to 31d: "],
    [{ limits: { rate: { limit: 1, per: 5 } } }, "[0].limits.rate.per: expected a duration such as `1s`"],
    [{ limits: { rate: { limit: 1 } } }, "[0].limits.rate.per: expected a duration such as `1s`"],
    [{ limits: { rate: { limit: 1, per: "1s", burst: 0 } } }, "[0].limits.rate.burst: expected a whole number from 1 to 1000000"],
    [{ weight: 0 }, "[0].weight: expected a whole number from 1 to 1000"],
    [{ weight: 1001 }, "[0].weight: expected a whole number from 1 to 1000"],
    [{ priority: 0 }, "[0].priority: expected a whole number from 1 to 5"],
    [{ priority: 6 }, "[0].priority: expected a whole number from 1 to 5"],
  ])("are refused out of bounds: %j", async (fields, problem) => {
    const answer = await server.send("PUT", "/limits/rules", [{ pattern: "bad", ...fields }]);
    expect(answer.status).toBe(422);
    expect(answer.json<{ message: string }>().message).toContain(problem);
  });

  test("are in the document about the interface", async () => {
    const document = (await server.send("GET", "/openapi")).text;
    for (const name of ["rate", "burst", "weight", "priority"]) expect(document).toContain(`"${name}"`);
  });
});
