import { expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { whereOf, whereText } from "./where-text.js";

const POSTGRES_URL = "postgres://u:hidden@db/p";

test("the process for SQL receives every option of the connection to Redis", () => {
  const redis = {
    nodes: [
      { host: "a", port: 6379 },
      { host: "b", port: 6380 },
    ] as const,
    cluster: true,
    username: "u",
    database: 0,
    tls: {},
    caFile: "/etc/ca.pem",
    replicas: 1,
    timeoutMs: 5000,
    keyPrefix: "{p}",
    name: "perdure-admin",
  };
  const where = { environment: "e", redis: { ...redis, nodes: [...redis.nodes] as const }, postgresUrl: POSTGRES_URL };
  expect(whereOf(whereText({ ...where, redis: { ...redis, nodes: [redis.nodes[0], redis.nodes[1]] } }))).toEqual(where);
});

test("the password arrives as a secret", () => {
  const redis = { nodes: [{ host: "a", port: 1 }] as [{ host: string; port: number }], password: new Secret("hidden") };
  expect(whereOf(whereText({ environment: "e", redis, postgresUrl: POSTGRES_URL })).redis.password?.reveal()).toBe("hidden");
});

test("a text of another form is refused without repeating what it holds", () => {
  const valid = { environment: "e", redis: { nodes: [{ host: "a", port: 1 }] }, postgresUrl: POSTGRES_URL };
  const broken = [
    "hidden",
    "null",
    "[]",
    "{}",
    JSON.stringify({ ...valid, redis: undefined }),
    JSON.stringify({ ...valid, redis: { nodes: [] } }),
    JSON.stringify({ ...valid, redis: { nodes: [{ host: "a", port: "1" }] } }),
    JSON.stringify({ ...valid, redis: { ...valid.redis, later: 1 } }),
    JSON.stringify({ ...valid, password: 1 }),
  ];
  for (const text of broken) {
    expect(() => whereOf(text)).toThrow(expect.objectContaining({ code: "OPS0003" }));
    expect(() => whereOf(text)).not.toThrow(/hidden/);
  }
});
