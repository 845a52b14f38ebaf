import { PassThrough } from "node:stream";
import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { BodyGate } from "./body-gate.js";
import { readWholeBody } from "./whole-body.js";

const aGate = (clock = new VirtualClock()) =>
  new BodyGate(clock, { requestBytesMax: 8, bufferedBodyBytesMax: 10, bodyTimeoutMs: 1_000 });

function reading(gate: BodyGate, bytesMax?: number) {
  const req = new PassThrough();
  const body = readWholeBody(req, gate, bytesMax);
  body.catch(() => undefined);
  return { req, body };
}

test("a body is read whole, up to its own bound", async () => {
  const gate = aGate();
  const { req, body } = reading(gate, 4);
  req.write("ab");
  req.end("cd");
  expect(Buffer.from(await body).toString()).toBe("abcd");
  const long = reading(gate, 4);
  long.req.write("abcde");
  await expect(long.body).rejects.toMatchObject({ failure: "tooLarge" });
  expect(long.req.destroyed).toBe(false);
  long.req.write("the rest is dropped");
  gate.stop();
});

test("bodies share the budget of their gate, and give it back", async () => {
  const gate = aGate();
  const first = reading(gate);
  first.req.write("12345678");
  const second = reading(gate);
  second.req.write("123");
  await expect(second.body).rejects.toMatchObject({ failure: "overBudget" });
  first.req.end();
  await first.body;
  const third = reading(gate);
  third.req.end("12345678");
  expect((await third.body).length).toBe(8);
  gate.stop();
});

test("a body that breaks off is an error of its sender, also when that was before it is read", async () => {
  const gate = aGate();
  const { req, body } = reading(gate);
  req.write("x");
  req.destroy(new Error("aborted"));
  await expect(body).rejects.toMatchObject({ failure: "brokenOff" });
  const gone = new PassThrough();
  gone.destroy();
  await expect(readWholeBody(gone, gate)).rejects.toMatchObject({ failure: "brokenOff" });
  gate.stop();
});

test("a body that was read to its end before is empty, and one that takes too long is given up", async () => {
  const clock = new VirtualClock();
  const gate = aGate(clock);
  const ended = new PassThrough({ autoDestroy: false });
  ended.end();
  ended.resume();
  await new Promise((resolve) => ended.once("end", resolve));
  expect((await readWholeBody(ended, gate)).length).toBe(0);
  const { req, body } = reading(gate);
  req.write("x");
  clock.advanceBy(2_000);
  await expect(body).rejects.toMatchObject({ failure: "tooSlow" });
  gate.stop();
});
