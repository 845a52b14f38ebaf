/** What an attempt begins with: its request, the state that goes along, and the journal as it is read. */
import { describe, expect, test } from "@jest/globals";
import { PerdureError, utf8 } from "@perdure/base";
import type { StartMessage } from "@perdure/service-protocol";
import type { InvokerOptions } from "./index.js";
import { aTarget, someFacts, stateKey } from "./testing/index.js";
import { failuresOf, names, object, startOf, World } from "./testing/world.js";

describe("requests", () => {
  test("carry the headers of the protocol, the invoker and the deployment, and the trace of this attempt", async () => {
    const world = new World({ additionalHeaders: { Authorization: "Bearer x", Accept: "nothing" } });
    const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b" };
    const { facts } = world.partition.invoke(someFacts({ target: aTarget({ ...object, key: "a b/ü!*'()~" }), trace }), utf8(""));
    await world.turn();
    expect(world.last.request.headers).toEqual({
      "content-type": "application/vnd.restate.invocation.v6",
      accept: "application/vnd.restate.invocation.v6",
      "x-restate-invocation-id": facts.id,
      "x-restate-service-key": "a%20b%2F%C3%BC%21%2A%27%28%29~",
      "x-restate-cluster-name": "localcluster",
      traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/),
      tracestate: "a=b",
      authorization: "Bearer x",
    });
    expect(Object.keys(world.last.request.headers)[3]).toBe("x-restate-service-key");
  });

  test("without trace or key have neither header", async () => {
    const world = new World({}, { additionalRequestHeaders: {} });
    await world.invoke();
    expect(Object.keys(world.last.request.headers)).toEqual(["content-type", "accept", "x-restate-invocation-id"]);
  });

  test("are signed for the path of the service, without what stands before it in the address", async () => {
    const signed: string[] = [];
    const identity = {
      publicKey: "",
      sign: (_headers: unknown, path: string, subject: string | undefined) => signed.push(`${path} ${subject}`),
    };
    const world = new World({ address: { kind: "http", uri: "http://h/base/?q=1", httpVersion: "HTTP/2.0" } }, {}, { identity });
    await world.invoke(object);
    expect(signed).toEqual(["/invoke/Obj/add k"]);
  });
});

describe("state", () => {
  async function startWithState(target: typeof object, options: Partial<InvokerOptions> = {}): Promise<StartMessage> {
    const world = new World({}, options);
    world.partition.readState = async () =>
      new Map([
        ["pre", utf8("1")],
        ["zeta", utf8("")],
        [stateKey("ä"), utf8("3")],
      ]);
    await world.invoke(target);
    return startOf(world.last);
  }

  test("of an object goes along, in storage order", async () => {
    const start = await startWithState(object);
    expect(start).toMatchObject({ partialState: false, key: "k" });
    expect(start.state).toEqual([
      { key: utf8("pre"), value: utf8("1") },
      { key: utf8("zeta"), value: utf8("") },
      { key: utf8("ä"), value: utf8("3") },
    ]);
  });

  test("stops before the limit would be exceeded, and reports it", async () => {
    const start = await startWithState(object, { eagerStateBytesMax: 9 });
    expect(start.partialState).toBe(true);
    expect(start.state.map(({ key }) => key)).toEqual([utf8("pre"), utf8("zeta")].slice(0, 2));
    expect((await startWithState(object, { eagerStateBytesMax: 7 })).state.length).toBe(1);
    expect((await startWithState(object, { eagerStateBytesMax: 0 })).state).toEqual([]);
  });

  test("is requested by the handler where it is lazy, and there is none in a service", async () => {
    expect(await startWithState({ ...object, handler: "lazy" })).toMatchObject({ partialState: true, state: [] });
    expect(await startWithState(aTarget() as typeof object)).toMatchObject({ partialState: true, state: [], key: "" });
  });
});

describe("reading", () => {
  test("entries stored while the journal is read are neither lost nor sent twice", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().fails("no").close();
    await world.turn();
    let finishReading = () => {};
    let read = 0;
    world.partition.readJournal = (id, length) => {
      const before = world.partition.get(id).entries.slice(0, length);
      read = length;
      return new Promise((resolve) => {
        finishReading = () => resolve(before);
      });
    };
    await world.pass(2_000);
    expect(read).toBe(1);
    expect(world.status(invocation)?.inFlight).toBe(true);
    for (const index of [17, 18]) world.partition.signal(invocation.facts.id, { kind: "signalIndex", index }, { kind: "void" });
    await world.turn();
    finishReading();
    await world.turn();
    world.partition.signal(invocation.facts.id, { kind: "signalIndex", index: 19 }, { kind: "void" });
    await world.turn();
    expect(names(world.last)).toEqual(["Start", "Input", "Signal", "Signal", "Signal"]);
    expect(startOf(world.last).knownEntries).toBe(3);
  });

  test("a stop while reading gives the slot back and opens nothing", async () => {
    const world = new World({}, { concurrentInvocationsMax: 1 });
    world.partition.readState = () => new Promise(() => {});
    const reading = await world.invoke(object);
    const waiting = await world.invoke();
    expect(world.streams.length).toBe(0);
    world.partition.kill(reading.facts.id);
    await world.turn();
    expect(world.streams.length).toBe(1);
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(waiting.facts.id);
  });

  test("storage that fails is RT0006, retried, and not counted for the SDK", async () => {
    const world = new World();
    const healthy = world.partition.readState;
    world.partition.readState = async () => {
      throw new PerdureError("STO0001", "the disk is away");
    };
    const invocation = await world.invoke(object);
    expect(failuresOf(invocation)).toEqual(["RT0006 retry"]);
    expect(invocation.failures[0]?.error.message).toBe("journal or state could not be read: the disk is away");
    world.partition.readState = healthy;
    await world.pass(2_000);
    expect(startOf(world.last).retryCountSinceLastStoredEntry).toBe(0);
  });

  test("a signal that arrives before there is a slot is in the first replay", async () => {
    const world = new World({}, { concurrentInvocationsMax: 1 });
    await world.invoke();
    const waiting = await world.invoke();
    world.partition.signal(waiting.facts.id, { kind: "signalIndex", index: 17 }, { kind: "void" });
    await world.turn();
    world.last.respond().finish().close();
    await world.turn();
    expect(names(world.last)).toEqual(["Start", "Input", "Signal"]);
    expect(startOf(world.last).knownEntries).toBe(2);
  });
});
