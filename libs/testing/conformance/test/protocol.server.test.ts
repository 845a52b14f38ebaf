/**
 * The service protocol on the wire of a running server: the start of an attempt, the answer to each command, and the evaluation of awaited
 * combinations. Endpoints are scripts that write frames by hand.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { fromUtf8, parseInvocationId, randomSeedOf, utf8 } from "@perdure/base";
import {
  type CallCommand,
  type JournalCommand,
  MessageType,
  messageTypeName,
  requestedAckFlag,
  type StartMessage,
} from "@perdure/service-protocol";
import { type AttemptScript, invocationIdOf, manifestOf, RawEndpoint, TestWorld } from "../src/index.js";
import { echoService } from "../src/services/echo.js";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.invoker.max-protocol-version": 7 } });
  await world.deploy({ services: [echoService("")] });
});
afterAll(() => world[Symbol.asyncDispose]());

type ServiceType = "SERVICE" | "VIRTUAL_OBJECT" | "WORKFLOW";
const HANDLER_TYPES = { SERVICE: "SHARED", VIRTUAL_OBJECT: "EXCLUSIVE", WORKFLOW: "WORKFLOW" } as const;

let services = 0;
/** Serves one script under a new name; gives the name. What the script finds wrong fails the test through `verdict`. */
async function serve(script: AttemptScript, { type = "SERVICE" as ServiceType, version = 7, shared = false } = {}) {
  const name = `Raw${++services}`;
  const handler = { name: "run", ty: shared ? "SHARED" : HANDLER_TYPES[type], output: { contentType: "text/plain" } };
  const definition = {
    name,
    ty: type,
    handlers: [handler],
    retryPolicyInitialInterval: 20,
    retryPolicyMaxInterval: 20,
    retryPolicyMaxAttempts: 6,
    retryPolicyOnMaxAttempts: "KILL",
  };
  const manifest = { ...manifestOf([]), services: [definition], minProtocolVersion: version, maxProtocolVersion: version };
  const endpoint = world.own(await RawEndpoint.start({ scripts: { [name]: script }, manifest }));
  await world.admin.register({ uri: endpoint.url });
  return { name, endpoint, expectNoFailures: () => expect(endpoint.failures).toEqual([]) };
}

const call = async (name: string, key?: string) => world.ingress.call(key === undefined ? [name, "run"] : [name, key, "run"]);
const typesOf = (frames: readonly { readonly type: number }[]) => frames.map(({ type }) => messageTypeName(type));
const sleepUntil = (wakeUpTimeMs: number, resultCompletionId: number): JournalCommand => ({
  kind: "sleep",
  wakeUpTimeMs,
  resultCompletionId,
  name: "",
});
const callOf = (handlerName: string, parameter: string, first: number): CallCommand => ({
  kind: "call",
  serviceName: "Echo",
  handlerName,
  key: "",
  parameter: utf8(parameter),
  headers: [],
  idempotencyKey: undefined,
  scope: undefined,
  limitKey: undefined,
  invocationIdNotificationIdx: first,
  resultCompletionId: first + 1,
  name: "",
});

describe("an attempt starts with", () => {
  test("the id, the key, the seed and the input; with the same seed again and a count of its failures", async () => {
    const starts: StartMessage[] = [];
    const { name, expectNoFailures } = await serve(
      async (attempt) => {
        const { start, entries } = await attempt.replay();
        starts.push(start);
        attempt.open();
        if (attempt.number === 1) expect(typesOf(entries)).toEqual(["Input"]);
        // The first attempt fails at once, the second after it has written something, the third at once again.
        if (attempt.number === 2) attempt.command({ kind: "setState", stateKey: utf8("a"), value: utf8("1"), name: "" });
        if (attempt.number < 4) return attempt.end();
        attempt.return("done");
      },
      { type: "VIRTUAL_OBJECT" },
    );
    const answer = await call(name, "the key");
    expect(answer.text).toBe("done");
    expectNoFailures();
    const id = parseInvocationId(invocationIdOf(answer));
    for (const start of starts) {
      expect(start).toMatchObject({ debugId: invocationIdOf(answer), key: "the key", partialState: false });
      expect(start.randomSeed).toBe(id.ok ? randomSeedOf(id.value) : undefined);
    }
    expect(starts.map(({ knownEntries }) => knownEntries)).toEqual([1, 1, 2, 2]);
    expect(starts.map((start) => start.retryCountSinceLastStoredEntry)).toEqual([0, 1, 1, 2]);
    expect(starts.map(({ state }) => state.length)).toEqual([0, 0, 1, 1]);
  });

  test.each([5, 6, 7] as const)("headers and fields of version %s", async (version) => {
    let start: StartMessage | undefined;
    const { name, expectNoFailures } = await serve(
      async (attempt) => {
        ({ start } = await attempt.replay());
        expect(attempt.contentType).toBe(`application/vnd.restate.invocation.v${version}`);
        attempt.open().return("ok");
      },
      { version },
    );
    const idempotencyKey = `v${version}`;
    expect((await world.ingress.call([name, "run"], undefined, { idempotencyKey })).text).toBe("ok");
    expectNoFailures();
    expect(start).toMatchObject({ partialState: true, state: [], key: "", scope: undefined, limitKey: undefined });
    if (version < 7) expect(start?.idempotencyKey).toBeUndefined();
  });

  test("the state of its key in the protocol's order, empty values included", async () => {
    const keys = ["zeta", "alpha", "pre", "", "b".repeat(130), "a".repeat(300), "c"];
    let start: StartMessage | undefined;
    const { name, expectNoFailures } = await serve(
      async (attempt) => {
        ({ start } = await attempt.replay());
        attempt.open();
        if (start.state.length === 0)
          for (const key of keys)
            attempt.command({ kind: "setState", stateKey: utf8(key), value: utf8(key === "c" ? "" : "v"), name: "" });
        attempt.return("ok");
      },
      { type: "VIRTUAL_OBJECT" },
    );
    await call(name, "k");
    await call(name, "k");
    expectNoFailures();
    expect(start?.state.map(({ key }) => fromUtf8(key))).toEqual([
      "",
      "c",
      "pre",
      "zeta",
      "alpha",
      "b".repeat(130),
      "a".repeat(300),
    ]);
    expect(start?.state.find(({ key }) => fromUtf8(key) === "c")?.value).toHaveLength(0);
  });

  test("frames that may come in any pieces, as may the answer", async () => {
    const { name, expectNoFailures } = await serve(async (attempt) => {
      attempt.open();
      await attempt.replay();
      attempt.command(sleepUntil(0, 1));
      expect((await attempt.notification()).id).toEqual({ kind: "completion", id: 1 });
      // The last message, a byte at a time.
      const lastBytes = Uint8Array.from([0x04, 0x01, 0, 0, 0, 0, 0, 5, 0x72, 3, 0x0a, 1, 0x78, 0, 3, 0, 0, 0, 0, 0, 0]);
      for (const byte of lastBytes) {
        attempt.bytes(Uint8Array.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      attempt.end();
    });
    expect((await call(name)).text).toBe("x");
    expectNoFailures();
  });
});

describe("a command is answered", () => {
  test("with the callee's id at once and its result later; with the result of a callee that fails", async () => {
    const { name, expectNoFailures } = await serve(async (attempt) => {
      await attempt.replay();
      attempt.open().command(callOf("echo", '"hi"', 1));
      const id = await attempt.notification();
      expect(id).toMatchObject({
        type: MessageType.CallInvocationIdCompletion,
        id: { id: 1 },
        result: { invocationId: expect.stringMatching(/^inv_1/) },
      });
      const result = await attempt.notification();
      expect(result).toMatchObject({ type: MessageType.CallCompletion, id: { id: 2 }, result: { value: Buffer.from('"hi"') } });
      attempt.command(callOf("fail", '{"message":"no","code":444,"metadata":{"a":"b"}}', 3));
      await attempt.notification();
      expect((await attempt.notification()).result).toMatchObject({
        kind: "failure",
        failure: { code: 444, message: "no", metadata: [{ key: "a", value: "b" }] },
      });
      attempt.return("ok");
    });
    expect((await call(name)).text).toBe("ok");
    expectNoFailures();
  });

  test("with an acknowledgement when it requests one, behind its completion", async () => {
    const { name, expectNoFailures } = await serve(
      async (attempt) => {
        await attempt.replay();
        attempt.open();
        attempt.command({ kind: "setState", stateKey: utf8("a"), value: utf8("1"), name: "" }, requestedAckFlag);
        attempt.command({ kind: "getLazyState", stateKey: utf8("a"), resultCompletionId: 1, name: "" }, requestedAckFlag);
        attempt.command({ kind: "getLazyState", stateKey: utf8("missing"), resultCompletionId: 2, name: "" });
        attempt.command({ kind: "setState", stateKey: utf8("empty"), value: utf8(""), name: "" });
        attempt.command({ kind: "getLazyState", stateKey: utf8("empty"), resultCompletionId: 3, name: "" });
        attempt.command({ kind: "getLazyStateKeys", resultCompletionId: 4, name: "" });
        const frames = [];
        for (let i = 0; i < 6; i++) frames.push(await attempt.next());
        expect(typesOf(frames as { type: number }[])).toEqual([
          "CommandAck",
          "GetLazyStateCompletion",
          "CommandAck",
          "GetLazyStateCompletion",
          "GetLazyStateCompletion",
          "GetLazyStateKeysCompletion",
        ]);
        // Command indexes: Input is 0.
        expect([frames[0]?.body, frames[2]?.body].map((body) => [...(body ?? [])])).toEqual([
          [8, 1],
          [8, 2],
        ]);
        // No value is Void (field 4), an empty one an empty Value (field 5).
        expect([frames[3]?.body, frames[4]?.body].map((body) => [...(body ?? [])])).toEqual([
          [8, 2, 0x22, 0],
          [8, 3, 0x2a, 0],
        ]);
        attempt.return("ok");
      },
      { type: "VIRTUAL_OBJECT" },
    );
    expect((await call(name, "k")).text).toBe("ok");
    expectNoFailures();
  });

  test("with what is known of another invocation: nothing yet, its result, or that there is none", async () => {
    const sleeping = await world.ingress.send(["Echo", "sleep"], 3_600_000);
    const done = invocationIdOf(await world.ingress.call(["Echo", "echo"], 5));
    const { name, expectNoFailures } = await serve(async (attempt) => {
      await attempt.replay();
      attempt.open();
      const outputOf = (id: string, resultCompletionId: number): JournalCommand => ({
        kind: "getInvocationOutput",
        target: { kind: "invocationId", invocationId: id },
        resultCompletionId,
        name: "",
      });
      attempt
        .command(outputOf(sleeping.invocationId, 1))
        .command(outputOf(done, 2))
        .command(outputOf("inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx", 3));
      const results = new Map<unknown, unknown>();
      for (let i = 0; i < 3; i++) {
        const { id, result } = await attempt.notification();
        results.set((id as { id: number }).id, result);
      }
      expect(results.get(1)).toEqual({ kind: "void" });
      expect(results.get(2)).toMatchObject({ kind: "value", value: Buffer.from("5") });
      expect(results.get(3)).toMatchObject({ kind: "failure", failure: { code: 404, message: "not found" } });
      attempt.return("ok");
    });
    expect((await call(name)).text).toBe("ok");
    await world.admin.invocation(sleeping.invocationId, "kill");
    expectNoFailures();
  });

  test("with 409 when a workflow's promise has been completed before", async () => {
    const { name, expectNoFailures } = await serve(
      async (attempt) => {
        await attempt.replay();
        attempt.open().command({ kind: "peekPromise", key: "p", resultCompletionId: 1, name: "" });
        expect((await attempt.notification()).result).toEqual({ kind: "void" });
        attempt.command({ kind: "getPromise", key: "p", resultCompletionId: 2, name: "" });
        for (const id of [3, 4]) {
          attempt.command({
            kind: "completePromise",
            key: "p",
            completion: { kind: "value", value: utf8(`${id}`) },
            resultCompletionId: id,
            name: "",
          });
        }
        const results = new Map<unknown, unknown>();
        for (let i = 0; i < 3; i++) {
          const { id, result } = await attempt.notification();
          results.set((id as { id: number }).id, result);
        }
        expect(results.get(2)).toMatchObject({ kind: "value", value: Buffer.from("3") });
        expect(results.get(3)).toEqual({ kind: "void" });
        expect(results.get(4)).toMatchObject({ failure: { code: 409, message: "promise was already completed" } });
        attempt.return("ok");
      },
      { type: "WORKFLOW" },
    );
    expect((await call(name, "w")).text).toBe("ok");
    expectNoFailures();
  });

  test.each([
    [6, 0, "RunCompletion"],
    [6, requestedAckFlag, "RunCompletion"],
    [7, 0, "RunCompletion"],
    [7, requestedAckFlag, "ProposeRunCompletionAck"],
  ] as const)("of a step in version %s with flags %s by a %s, and replayed whole", async (version, flags, expected) => {
    const { name, expectNoFailures } = await serve(
      async (attempt) => {
        const { entries } = await attempt.replay();
        attempt.open();
        if (attempt.number === 1) {
          attempt.command({ kind: "run", resultCompletionId: 1, name: "step" });
          attempt.control(
            { kind: "proposeRunCompletion", resultCompletionId: 1, result: { kind: "value", value: utf8("42") } },
            flags,
          );
          const frame = await attempt.next();
          expect(messageTypeName(frame?.type ?? -1)).toBe(expected);
          return attempt.end();
        }
        expect(typesOf(entries)).toEqual(["Input", "Run", "RunCompletion"]);
        expect(fromUtf8(entries[2]!.body)).toContain("42");
        attempt.return("ok");
      },
      { version },
    );
    expect((await call(name)).text).toBe("ok");
    expectNoFailures();
  });
});
