/** The command of a debounced request, and the answer when the request joins an earlier invocation. */
import { describe, expect, test } from "@jest/globals";
import { formatTimestampNanos, idempotentInvocationId, partitionKeyOf } from "@perdure/base";
import { decodeCommand, MessageType } from "@perdure/service-protocol";
import type { Invoke } from "@perdure/state-machine";
import { openClient, type TestAnswer, type TestRequest } from "./client.js";
import { startIngress } from "./fixture.js";

async function exchange(...requests: readonly TestRequest[]): Promise<{ answers: TestAnswer[]; commands: readonly Invoke[] }> {
  await using fixture = await startIngress();
  await using client = openClient("http/1.1", fixture.port);
  const answers: TestAnswer[] = [];
  for (const request of requests) answers.push(await client.send(request));
  return { answers, commands: fixture.partitions.invoked };
}

const debounced = (path: string, debounce: string, headers: Record<string, string> = {}): TestRequest => ({
  path,
  headers: { "x-restate-debounce": debounce, ...headers },
});

describe("a debounced request", () => {
  test("is delayed, names its key and latest start, and does not show the header to the handler", async () => {
    const { answers, commands } = await exchange(debounced("/Greeter/greet/send", "5s;max=1m;key=k"));
    const { facts, id, input } = commands[0]!;
    expect(facts).toMatchObject({
      executionTimeMs: facts.createdAtMs + 5_000,
      debounce: { key: "k", startByMs: facts.createdAtMs + 60_000, sendCount: 1 },
    });
    expect(answers[0]!.status).toBe(202);
    expect(JSON.parse(answers[0]!.text)).toEqual({
      invocationId: id,
      executionTime: formatTimestampNanos(facts.createdAtMs + 5_000),
      status: "Accepted",
    });
    expect(JSON.stringify(decodeCommand(MessageType.Input, input))).not.toContain("debounce");
  });

  test("has a fresh id in the partition of its key", async () => {
    const requests = ["a", "a", "b"].map((key) => debounced("/Greeter/greet/send", `5s;key=${key}`));
    const { commands } = await exchange(...requests);
    expect(new Set(commands.map(({ id }) => id)).size).toBe(3);
    const places = commands.map(({ id }) => partitionKeyOf(id));
    const target = { service: "Greeter", key: undefined, handler: "greet" };
    expect(places[0]).toBe(places[1]);
    expect(places).toEqual(["a", "a", "b"].map((key) => partitionKeyOf(idempotentInvocationId(target, key))));
  });

  test("takes its idempotency key as debounce key only", async () => {
    const headers = { "idempotency-key": "once" };
    const { commands } = await exchange(
      debounced("/Counter/c/add", "1s", headers),
      debounced("/Counter/c/add", "1s;key=k", headers),
    );
    expect(commands.map(({ facts }) => [facts.idempotencyKey, facts.debounce?.key])).toEqual([
      [undefined, "once"],
      [undefined, "k"],
    ]);
  });

  test("has the same meaning under the name of Perdure", async () => {
    const { commands } = await exchange({ path: "/Greeter/greet/send", headers: { "X-Perdure-Debounce": "2s" } });
    expect(commands[0]!.facts.debounce).toMatchObject({ key: "" });
  });

  test.each([
    [debounced("/Greeter/greet/send", "soon"), /^bad header x-restate-debounce/],
    [debounced("/Greeter/greet/send?delay=1s", "5s"), /^cannot use the delay query parameter/],
    [debounced("/Wf/w1/run/send", "5s"), /with workflow handlers/],
  ])("is refused with ING0010 when the header cannot be used: %j", async (request, message) => {
    const { answers, commands } = await exchange(request);
    expect(commands).toEqual([]);
    expect(answers[0]!.status).toBe(400);
    expect((JSON.parse(answers[0]!.text) as { message: string }).message).toMatch(message);
  });
});
