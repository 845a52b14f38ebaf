import { beforeEach, describe, expect, test } from "@jest/globals";
import { createMemoryMetadataStore, emptyMemoryMetadata, RULE_WEIGHT_DEFAULT, type RuleRecord } from "@perdure/metadata";
import type { RegistryRole } from "./registry.js";
import { aRuleChange, createTestRegistry } from "./testing/index.js";

const RATE = { limit: 10, periodMs: 1000, burst: 20 };
const memory = emptyMemoryMetadata();
let registry: RegistryRole;

beforeEach(async () => {
  registry = await createTestRegistry();
});

async function put(change: Parameters<typeof aRuleChange>[0]): Promise<RuleRecord> {
  const [rule] = await registry.putRules([aRuleChange(change)]);
  return rule as RuleRecord;
}

describe("own fields of a rule", () => {
  test("is absent unless it is set", async () => {
    expect(await put({ pattern: "a" })).toMatchObject({ rate: undefined, weight: RULE_WEIGHT_DEFAULT, priority: undefined });
  });

  test("stays when a client that does not support it changes the rest", async () => {
    await put({ pattern: "a", rate: RATE, weight: 3, priority: 1 });
    expect(await put({ pattern: "a", concurrency: 7, description: "more" })).toMatchObject({
      concurrency: 7,
      description: "more",
      rate: RATE,
      weight: 3,
      priority: 1,
      version: 2,
    });
  });

  test("goes when it is null", async () => {
    await put({ pattern: "a", rate: RATE, weight: 3, priority: 1 });
    expect(await put({ pattern: "a", rate: null, weight: null, priority: null })).toMatchObject({
      rate: undefined,
      weight: RULE_WEIGHT_DEFAULT,
      priority: undefined,
    });
  });

  test.each([
    ["another limit", { rate: { ...RATE, limit: 11 } }],
    ["another period", { rate: { ...RATE, periodMs: 2000 } }],
    ["another burst", { rate: { ...RATE, burst: 1 } }],
    ["no rate", { rate: null }],
    ["another weight", { weight: 4 }],
    ["another priority", { priority: 5 }],
  ])("%s is a change", async (_name, change) => {
    await put({ pattern: "a", rate: RATE, weight: 3, priority: 1 });
    expect((await put({ pattern: "a", ...change })).version).toBe(2);
  });

  test("is not a change when it is the same again", async () => {
    await put({ pattern: "a", rate: RATE, weight: 3, priority: 1 });
    expect((await put({ pattern: "a", rate: { ...RATE }, weight: 3, priority: 1 })).version).toBe(1);
  });

  test("survives a restart, and rules stored without it are read", async () => {
    const store = createMemoryMetadataStore(memory);
    const old = { pattern: "old", concurrency: 2, disabled: false, version: 1, lastModifiedMs: 5 };
    await store.write([{ kind: "put", key: "registry/rule-book", expectedVersion: 0, value: { version: 1, rules: [old] } }]);
    registry = await createTestRegistry({ metadata: store });
    expect(registry.rules()).toEqual([
      { ...old, description: undefined, rate: undefined, weight: RULE_WEIGHT_DEFAULT, priority: undefined },
    ]);
    await put({ pattern: "new", rate: RATE, weight: 3, priority: 1 });
    const again = await createTestRegistry({ metadata: createMemoryMetadataStore(memory) });
    expect(again.rules()).toEqual(registry.rules());
  });
});
