import { expect, test } from "@jest/globals";
import { definitions, secondsOf } from "../src/index.js";

type Node = Readonly<Record<string, unknown>>;

/** Every schema below, with its path. */
function* nodesOf(node: Node, path: string): Generator<readonly [string, Node]> {
  yield [path, node];
  for (const [name, child] of Object.entries((node["properties"] ?? {}) as Record<string, Node>))
    yield* nodesOf(child, `${path}.${name}`);
  if (node["items"] !== undefined) yield* nodesOf(node["items"] as Node, `${path}[]`);
  if (typeof node["additionalProperties"] === "object") yield* nodesOf(node["additionalProperties"] as Node, `${path}{}`);
}

const schemas = definitions.flatMap((definition) => {
  const schema = definition.spec.versions[0]?.schema.openAPIV3Schema as Node;
  return [...nodesOf(schema, definition.spec.names["kind"] as string)];
});

const ENVELOPE = /^\w+\.(apiVersion|kind)$/;

test("everything has one type, and a bound", () => {
  expect(schemas.length).toBeGreaterThan(150);
  for (const [path, node] of schemas) {
    expect([path, node["type"]]).toEqual([path, expect.stringMatching(/^(object|array|string|integer|boolean)$/)]);
    const isBounded: Record<string, boolean> = {
      string: "maxLength" in node || "enum" in node || node["format"] === "date-time" || ENVELOPE.test(path),
      array: "maxItems" in node,
      integer: "minimum" in node,
      object: !("additionalProperties" in node) || "maxProperties" in node,
      boolean: true,
    };
    expect([path, isBounded[String(node["type"])]]).toEqual([path, true]);
  }
});

test("a field with a default is not required, and one without is", () => {
  const [, spec] = schemas.find(([path]) => path === "Environment.spec") as readonly [string, Node];
  expect(spec["required"]).toEqual(["environmentId", "accountId", "region", "version", "redis"]);
  expect(spec["additionalProperties"]).toBeUndefined();
});

test("durations are counted in seconds", () => {
  expect(["0s", "90s", "5m", "24h", "7d"].map(secondsOf)).toEqual([0, 90, 300, 86_400, 604_800]);
  expect(() => secondsOf("1y")).toThrow("'1y' is not a duration");
});
