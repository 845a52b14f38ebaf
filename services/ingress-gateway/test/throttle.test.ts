/** The command of a throttled request, and the answer when the throttle does not run it. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, idempotentInvocationId, partitionKeyOf } from "@perdure/base";
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

const throttled = (path: string, throttle: string, headers: Record<string, string> = {}): TestRequest => ({
  path,
  headers: { "x-restate-throttle": throttle, ...headers },
});

const GREETER = { service: "Greeter", key: undefined, handler: "greet" };
const idOf = (answer: TestAnswer): string => (JSON.parse(answer.text) as { invocationId: string }).invocationId;

describe("a throttled request", () => {
  test("starts at once, names its rule, and does not show the header to the handler", async () => {
    const { answers, commands } = await exchange(throttled("/Greeter/greet/send", "1m;limit=3;key=k"));
    const { facts, id, input, throttle } = commands[0]!;
    expect(throttle).toEqual({ key: "k", periodMs: 60_000, limit: 3 });
    expect([facts.executionTimeMs, facts.debounce]).toEqual([undefined, undefined]);
    expect([answers[0]!.status, idOf(answers[0]!)]).toEqual([202, id]);
    expect(JSON.stringify(decodeCommand(MessageType.Input, input))).not.toContain("throttle");
  });

  test("has an id in the partition of its key, the same one for the same idempotency key", async () => {
    const once = { "idempotency-key": "once" };
    const { commands } = await exchange(
      throttled("/Greeter/greet/send", "1m;key=a"),
      throttled("/Greeter/greet/send", "1m;key=a"),
      throttled("/Greeter/greet/send", "1m;key=a", once),
      throttled("/Greeter/greet/send", "1h;key=a", once),
      throttled("/Greeter/greet/send", "1m;key=a", { "idempotency-key": "twice" }),
    );
    const places = new Set(commands.map(({ id }) => partitionKeyOf(id)));
    expect([...places]).toEqual([partitionKeyOf(idempotentInvocationId(GREETER, "a"))]);
    const [first, second, third, repeated, other] = commands.map(({ id }) => id);
    expect(repeated).toBe(third);
    expect(new Set([first, second, third, other]).size).toBe(4);
    expect(commands.map(({ facts }) => facts.idempotencyKey)).toEqual([undefined, undefined, "once", "once", "twice"]);
  });

  test("of an object has the usual id of its idempotency key, under which its result is found", async () => {
    const { commands } = await exchange(throttled("/Counter/c/add", "1m;key=k", { "idempotency-key": "once" }));
    expect(commands[0]!.id).toBe(idempotentInvocationId({ service: "Counter", key: "c", handler: "add" }, "once"));
  });

  test("may have a delay, which is not part of the throttle", async () => {
    const { commands } = await exchange({
      path: "/Greeter/greet/send?delay=1h",
      headers: { "X-Perdure-Throttle": "1m" },
    });
    const { facts, throttle } = commands[0]!;
    expect([throttle?.key, facts.executionTimeMs]).toEqual(["", facts.createdAtMs + 3_600_000]);
  });

  test.each([
    [
      throttled("/Greeter/greet/send", "soon"),
      /^bad header x-restate-throttle: the duration: .*: 1m;limit=3;key=customer-7;over=join$/,
    ],
    [throttled("/Greeter/greet/send", "1m;key=\u00fc"), /not printable ASCII/],
    [throttled("/Greeter/greet/send", "1m", { "x-restate-debounce": "5s" }), /^cannot use the headers .* together/],
    [throttled("/Wf/w1/run/send", "1m"), /with workflow handlers/],
  ])("is refused with ING0011 when the header cannot be used: %j", async (request, message) => {
    const { answers, commands } = await exchange(request);
    expect(commands).toEqual([]);
    expect(answers[0]!.status).toBe(400);
    expect((JSON.parse(answers[0]!.text) as { message: string }).message).toMatch(message);
  });

  test("is not throttled when the header says off", async () => {
    const { commands } = await exchange(throttled("/Greeter/greet/send", "off"));
    expect(commands.map(({ throttle }) => throttle)).toEqual([undefined]);
  });
});

describe("a request that the throttle does not run", () => {
  /** Answers of requests after the invocation of the first, which has no throttle, is the newest of the period. */
  async function refused(over: string, ...paths: readonly string[]) {
    await using fixture = await startIngress();
    await using client = openClient("http/1.1", fixture.port);
    const newestId = idOf(await client.send({ path: "/Greeter/greet/send" })) as InvocationId;
    fixture.partitions.throttled = { kind: "throttled", newestId, admittedCount: 3, retryAtMs: Date.now() + 29_500 };
    const answers: TestAnswer[] = [];
    for (const path of paths) answers.push(await client.send(throttled(path, `30s;limit=3;over=${over}`)));
    fixture.partitions.records.delete(newestId);
    answers.push(await client.send(throttled("/Greeter/greet", `30s;limit=3;over=${over}`)));
    return { newestId, answers };
  }

  test("is refused with RT0103, the id of the newest invocation, and the time to wait", async () => {
    const { newestId, answers } = await refused("reject", "/Greeter/greet/send", "/Greeter/greet");
    for (const { status, headers, text } of answers) {
      expect(status).toBe(429);
      expect(headers["x-restate-id"]).toBe(newestId);
      expect(Number(headers["retry-after"])).toBeGreaterThan(25);
      expect(JSON.parse(text)).toEqual({
        code: 429,
        message: `throttled: 3 invocations have begun in this period of 30s, and the throttle allows no more. The newest is ${newestId}. Nothing was stored; retry after the period.`,
        metadata: { error_code: "RT0103", invocation_id: newestId },
        source: "ingress",
      });
    }
  });

  test("joins the newest invocation when it says so: a send gets its id, a call its result, or RT0103 when that is deleted", async () => {
    const { newestId, answers } = await refused("join", "/Greeter/greet/send", "/Greeter/greet");
    const [send, call, afterDeletion] = answers;
    expect([send!.status, JSON.parse(send!.text)]).toEqual([202, { invocationId: newestId, status: "PreviouslyAccepted" }]);
    expect(Number(send!.headers["retry-after"])).toBeGreaterThan(25);
    expect([call!.status, call!.headers["x-restate-id"]]).toEqual([200, newestId]);
    expect([afterDeletion!.status, afterDeletion!.headers["x-restate-id"]]).toEqual([429, newestId]);
  });

  test.each(["reject", "join"])("is refused with RT0104 when its key cannot be stored, with over=%s", async (over) => {
    await using fixture = await startIngress();
    await using client = openClient("http/1.1", fixture.port);
    fixture.partitions.throttled = { kind: "throttleKeysFull" };
    for (const path of ["/Greeter/greet/send", "/Greeter/greet"]) {
      const { status, headers, text } = await client.send(throttled(path, `30s;key=new;over=${over}`));
      expect([status, headers["x-restate-id"], headers["retry-after"]]).toEqual([429, undefined, undefined]);
      expect(JSON.parse(text)).toMatchObject({
        code: 429,
        message: expect.stringContaining("worker.throttle-keys-limit"),
        metadata: { error_code: "RT0104" },
        source: "ingress",
      });
    }
  });
});
