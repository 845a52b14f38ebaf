import { expect, test } from "@jest/globals";
import type { AdminOperation, PathParameter } from "./index.js";
import * as contract from "./index.js";
import { tolerant } from "./index.js";

const operations: readonly (readonly [string, AdminOperation])[] = Object.entries(contract).flatMap(([name, value]) =>
  typeof value === "object" && "method" in value && "path" in value ? [[name, value as AdminOperation] as const] : [],
);

test("no two operations have the same method and path", () => {
  const routes = operations.map(([, { method, path }]) => `${method} ${path}`);
  expect(new Set(routes).size).toBe(routes.length);
  expect(routes.length).toBeGreaterThan(40);
});

test("every response has a tolerant form", () => {
  for (const [, { results }] of operations) {
    for (const shape of Object.values(results ?? {})) expect(tolerant(shape).safeParse(undefined).success).toBe(false);
  }
});

test("the type of a path names its parameters", () => {
  const parameter: PathParameter<"/services/{service}/serdes/{*serde}"> = "serde";
  const other: PathParameter<typeof contract.getHandler.path> = "service";
  expect([parameter, other]).toEqual(["serde", "service"]);
  // @ts-expect-error: a path without this parameter
  const wrong: PathParameter<"/version"> = "service";
  expect(wrong).toBe("service");
});
