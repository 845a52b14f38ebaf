import { PassThrough } from "node:stream";
import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { wholeBody } from "./body.js";
import { REQUEST_BODY_MS } from "./limits.js";

const reading = () => {
  const clock = new VirtualClock();
  const req = new PassThrough();
  const body = wholeBody(req, { bytesMax: 4, tooLong: "too long", clock });
  body.catch(() => undefined);
  return { clock, req, body };
};

test("a body is read whole, up to its bound", async () => {
  const { req, body } = reading();
  req.write("ab");
  req.end("cd");
  expect(Buffer.from(await body).toString()).toBe("abcd");
  const long = reading();
  long.req.write("abcde");
  await expect(long.body).rejects.toMatchObject({ code: "PERD0413", message: "too long", headers: { connection: "close" } });
});

test("T22: a body that trickles is rejected after the timeout, however often a chunk arrives", async () => {
  const { clock, req, body } = reading();
  for (let n = 0; n < 4; n++) {
    req.write("x");
    clock.advanceBy(REQUEST_BODY_MS / 4);
  }
  clock.advanceBy(1_000); // Slow bodies are searched once a second.
  await expect(body).rejects.toMatchObject({ code: "PERD0408", status: 408, headers: { connection: "close" } });
  req.destroy(new Error("reset")); // A later error of the request must not be an unhandled one.
});

test("a body that breaks off is an error of its sender, not of the server", async () => {
  const { req, body } = reading();
  req.write("x");
  req.destroy(new Error("aborted"));
  await expect(body).rejects.toMatchObject({ code: "PERD0400" });
  const silent = reading();
  silent.req.destroy();
  await expect(silent.body).rejects.toMatchObject({ code: "PERD0400" });
});
