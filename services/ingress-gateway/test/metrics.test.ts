/** What metrics receive of exchanges. */

import { describe, expect, test } from "@jest/globals";
import type { ErrorCode } from "@perdure/base";
import { until } from "@perdure/testkit";
import type { ExchangeKind } from "../src/index.js";
import { openClient } from "./client.js";
import { startIngress, success } from "./fixture.js";

const health = { method: "GET", path: "/restate/health" } as const;

describe("metrics", () => {
  test("receive each exchange once, with its kind and the code of a refusal", async () => {
    const outcomes: [ExchangeKind, number | "abandoned", ErrorCode | undefined][] = [];
    const metrics = {
      answered: (kind: ExchangeKind, status: number, code: ErrorCode | undefined, durationMs: number) => {
        expect(durationMs).toBeGreaterThanOrEqual(0);
        outcomes.push([kind, status, code]);
      },
      abandoned: (kind: ExchangeKind) => outcomes.push([kind, "abandoned", undefined]),
      accepted: (_kind: ExchangeKind, durationMs: number) => expect(durationMs).toBeGreaterThanOrEqual(0),
      paced: () => undefined,
      countLookup: (isHit: boolean) => void lookups.push(isHit),
      bytes: (direction: "in" | "out", count: number) => void passed.push([direction, count]),
    };
    const lookups: boolean[] = [];
    const passed: ["in" | "out", number][] = [];
    await using fixture = await startIngress({
      ports: { metrics },
      script: ({ facts }) => (facts.target.handler === "block" ? "pending" : success("x")),
    });
    await using client = openClient("http/1.1", fixture.port);
    await client.send({ path: "/Greeter/greet" });
    await client.send({ path: "/Greeter/greet/send" });
    await client.send({ path: "/Nope/greet" });
    await client.send({ path: "/Greeter/greet", headers: { "content-length": "40000000" }, unfinished: true });
    await client.send(health);
    const leaving = new AbortController();
    const abandoned = expect(client.send({ path: "/Greeter/block" }, leaving.signal)).rejects.toThrow();
    await until(() => fixture.partitions.waiting.size === 1, "the call waits");
    leaving.abort();
    await abandoned;
    await until(() => outcomes.length === 6, "the last has been noticed");
    expect(outcomes).toEqual([
      ["call", 200, undefined],
      ["send", 202, undefined],
      ["other", 404, "ING0002"],
      ["other", 413, "ING0004"],
      ["health", 200, undefined],
      ["call", "abandoned", undefined],
    ]);
    expect(lookups).toEqual([true, true, false, true]);
    expect(passed).toContainEqual(["out", "x".length]);
  });
});
