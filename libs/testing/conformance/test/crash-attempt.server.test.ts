/** An attempt that is cut off in the middle loses nothing: what was done is not done again, and what was begun is. */

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { builtConsole } from "@perdure/dev-cluster";
import { adminErrorOf, eventually, type HttpAnswer, probe, TestWorld } from "../src/index.js";
import { fiveSteps, HELD_STEP, STEPS } from "../src/services/crash-attempt.js";

let world: TestWorld;
beforeAll(async () => {
  await builtConsole();
  world = await TestWorld.start();
  await world.deploy({ services: [fiveSteps], kind: "h2-bidi" });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const crash = (id: string): Promise<HttpAnswer> => world.admin.http.request("POST", `/invocations/${id}/crash-attempt`);

describe("an attempt that is cut off in the middle of its third step", () => {
  test("continues with that step, and runs each finished one once", async () => {
    const CUTS = 3;
    probe.put("a: hold", true);
    const { invocationId } = await world.ingress.send(["FiveSteps", "run"], "a");
    for (let cut = 1; cut <= CUTS; cut++) {
      await eventually(`the third step for the ${cut}. time`, () => probe.count(`a: begun ${HELD_STEP}`) === cut);
      if (cut === CUTS) probe.put("a: hold", false);
      const answer = await crash(invocationId);
      expect([answer.status, answer.json]).toEqual([202, { attempt: cut, journal_length: expect.any(Number) }]);
      // The input, and two steps, each with its value; that the third has begun is stored while it runs.
      expect([5, 6]).toContain((answer.json as { journal_length: number }).journal_length);
      if (cut === 1) await expectReported(invocationId);
    }
    const values = Array.from({ length: STEPS }, (_, step) => `a ${step + 1}`);
    expect(await world.ingress.outcome(invocationId)).toEqual(values);
    const counts = (what: string) => values.map((_, step) => probe.count(`a: ${what} ${step + 1}`));
    expect(counts("done")).toEqual([1, 1, 1, 1, 1]);
    expect(counts("begun")).toEqual([1, 1, CUTS + 1, 1, 1]);
    expect(probe.count("a: attempts")).toBe(CUTS + 1);
    const done = await crash(invocationId);
    expect([done.status, adminErrorOf(done).message]).toEqual([409, expect.stringContaining("completed")]);
  });
});

/** Checks the report in the journal's events, the last failure and the log. */
async function expectReported(invocationId: string): Promise<void> {
  const events = () =>
    world.admin.query(`SELECT event_json FROM sys_journal_events WHERE id = '${invocationId}' AND event_type = 'TransientError'`);
  const [event] = await eventually("the event", async () => {
    const result = await events();
    return result.length > 0 ? result : undefined;
  });
  expect(JSON.parse(String(event?.["event_json"]))).toMatchObject({
    restate_doc_error_code: "RT0101",
    error_message: "the attempt was cut off on request",
  });
  expect((await world.admin.row(invocationId))?.["last_failure_error_code"]).toBe("RT0101");
}

test("what does not run cannot be cut off", async () => {
  const { invocationId } = await world.ingress.send(["FiveSteps", "wait"]);
  await eventually("the suspension", async () => (await world.admin.row(invocationId))?.["status"] === "suspended");
  const answer = await crash(invocationId);
  expect([answer.status, adminErrorOf(answer).message]).toEqual([409, expect.stringContaining("suspended")]);
  await world.admin.invocation(invocationId, "kill");
});

test("a server that does not allow it has no such operation", async () => {
  await using other = await TestWorld.start({
    settings: { "admin.disable-crash-attempt": "true", "admin.disable-web-ui": "true" },
  });
  await other.deploy({ services: [fiveSteps] });
  const { invocationId } = await other.ingress.send(["FiveSteps", "run"], "b");
  expect((await other.admin.http.request("POST", `/invocations/${invocationId}/crash-attempt`)).status).toBe(404);
  expect(await other.ingress.outcome(invocationId)).toHaveLength(STEPS);
  const console = await other.admin.get("/ui/");
  expect([console.status, adminErrorOf(console).message]).toEqual([404, expect.stringContaining("admin.disable-web-ui")]);
});

test("the console of this tree is served, and gets the setting that attempts can be cut off", async () => {
  const { status, text, headers } = await world.admin.get("/ui/invocations");
  expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(text).toContain('"canCrash":true');
  const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(text)?.[1];
  const answer = await world.admin.http.request("GET", `/ui/${script}`, { headers: { "accept-encoding": "br" } });
  expect([answer.status, answer.headers["content-encoding"]]).toEqual([200, "br"]);
});
