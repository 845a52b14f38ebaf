/** Answers to requests to cut off an attempt, in every state of the invocation. */
import { afterEach, expect, test } from "@jest/globals";
import { type InvocationId, systemClock } from "@perdure/base";
import { createTestRegistry } from "@perdure/registry/testing";
import type { Invocation } from "@perdure/state-machine";
import type { InsightSource } from "../src/insight/source.js";
import {
  anInvocation,
  createScriptedPartitions,
  createTestAdminApi,
  startServer,
  type TestServer,
} from "../src/testing/index.js";

const ID = "inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz" as InvocationId;
const PATH = `/invocations/${ID}/crash-attempt`;

let server: TestServer | undefined;
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function open(setup: Partial<Parameters<typeof createTestAdminApi>[0]>): Promise<TestServer> {
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry(), ...setup }));
  return server;
}

function backingOff(): InsightSource {
  const status = {
    inFlight: false,
    retryCount: 1,
    lastStartAtMs: 0,
    nextRetryAtMs: systemClock.nowMs() + 60_000,
    lastAttemptDeploymentId: undefined,
    lastFailure: undefined,
    lastAwaitingJson: undefined,
  };
  return {
    partitionCount: 1,
    store: {
      reads: { invocation: () => undefined, lock: () => undefined, inbox: () => undefined },
      readJournal: async () => [],
      events: async () => [],
      stateOf: async () => new Map(),
      flow: async () => ({ pauses: [] }),
    },
    invoker: { status: () => status, flowWait: () => undefined },
  };
}

test("a running attempt is cut off, and the answer describes it", async () => {
  const requestedIds: InvocationId[] = [];
  const crashAttempt = (id: InvocationId) => {
    requestedIds.push(id);
    return { attempt: 2, journalLength: 5 };
  };
  const { send } = await open({ crashAttempt });
  const answer = await send("POST", PATH);
  expect([answer.status, answer.json()]).toEqual([202, { attempt: 2, journal_length: 5 }]);
  expect(requestedIds).toEqual([ID]);
});

test.each<[status: Invocation["status"], word: string]>([
  ["scheduled", "scheduled for later"],
  ["inboxed", "waits in a queue"],
  ["ready", "waits for a slot"],
  ["suspended", "suspended"],
  ["paused", "paused"],
  ["completed", "completed"],
  ["invoked", "about to begin"],
])("an invocation that is %s has none that runs: 409", async (status, state) => {
  const partitions = createScriptedPartitions();
  partitions.invocations.set(ID, anInvocation(ID, status, undefined));
  const { send } = await open({ partitions });
  const answer = await send("POST", PATH);
  expect(answer.status).toBe(409);
  expect(answer.json()).toEqual({ message: expect.stringContaining(state), restate_code: null });
});

test("the answer for one that is backing off has the time of its next attempt", async () => {
  const partitions = createScriptedPartitions();
  partitions.invocations.set(ID, anInvocation(ID, "invoked", undefined));
  const { send } = await open({ partitions, insight: backingOff() });
  expect((await send("POST", PATH)).json<{ message: string }>().message).toMatch(/begins in (5\d|60)\d{3} ms/);
});

test("unknown invocations are 404, and so is every invocation where attempts cannot be cut off", async () => {
  const { send } = await open({});
  expect((await send("POST", PATH)).status).toBe(404);
  expect((await send("POST", "/invocations/inv_nope/crash-attempt")).status).toBe(400);
  expect((await send("GET", PATH)).status).toBe(405);
  expect((await send("GET", "/openapi")).text).toContain("/invocations/{invocation_id}/crash-attempt");
  await server?.[Symbol.asyncDispose]();
  const without = await open({ crashAttempt: null });
  expect((await without.send("POST", PATH)).status).toBe(404);
  expect((await without.send("GET", PATH)).status).toBe(404);
  expect((await without.send("GET", "/openapi")).text).not.toContain("crash-attempt");
});
