/** A disk that takes no more: the server stops at once with a clear word, and everything it acknowledged is still there. */

import { randomBytes } from "node:crypto";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { service } from "@restatedev/restate-sdk";
import { eventually, TestWorld } from "../src/index.js";
import { temporaryDirectory } from "../src/server.js";

/** Largest file the server may write, in the shell's blocks of 512 bytes: less than a log file of the database grows to. */
const FILE_BLOCKS_MAX = 4_000;
const PAYLOAD_BYTES = 100_000;
const SENDS_MAX = 100;

let world: TestWorld;
let directory: string;
let limit: string;

beforeAll(async () => {
  directory = temporaryDirectory();
  limit = join(directory, "limited");
  const node = join(directory, "node");
  writeFileSync(limit, "");
  writeFileSync(node, `#!/bin/sh\n[ -f '${limit}' ] && ulimit -f ${FILE_BLOCKS_MAX}\nexec '${process.execPath}' "$@"\n`);
  chmodSync(node, 0o755);
  world = await TestWorld.start({ environment: { PERDURE_NODE: node } });
  const lengthOf = service({ name: "Length", handlers: { of: async (_ctx, text: string) => text.length } });
  await world.deploy({ services: [lengthOf], kind: "h2-bidi" });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

test("a write that fails ends the process with its code, and a start with free space finds all that was accepted", async () => {
  const text = randomBytes(PAYLOAD_BYTES).toString("base64");
  const accepted: string[] = [];
  for (let i = 0; i < SENDS_MAX && world.server.isRunning; i++) {
    // The one that meets the failed write is answered 503 or not at all; only a 202 is a promise.
    const sent = await world.ingress.send(["Length", "of"], text, { idempotencyKey: `send ${i}` }).catch(() => undefined);
    if (sent === undefined) break;
    accepted.push(sent.invocationId);
  }
  expect(accepted.length).toBeGreaterThan(3);
  expect(accepted.length).toBeLessThan(SENDS_MAX);
  await eventually("the server to have ended", () => !world.server.isRunning);
  expect(world.server.lines.join("\n")).toMatch(/STO000[14]/);

  rmSync(limit);
  await world.server.startAgain();
  for (const id of accepted) {
    const answer = await world.ingress.attach(id);
    expect(answer).toMatchObject({ status: 200, json: text.length });
  }
});

test("so does a payload whose file cannot be written: it is not accepted, and what was stays", async () => {
  const kept = randomBytes(600_000).toString("base64");
  const { invocationId } = await world.ingress.send(["Length", "of"], kept, { idempotencyKey: "kept" });
  await world.server.kill();
  writeFileSync(limit, "");
  await world.server.startAgain();
  // Larger than a file may get now.
  const text = randomBytes(1_600_000).toString("base64");
  const refused = await world.ingress.send(["Length", "of"], text, { idempotencyKey: "refused" }).catch(() => undefined);
  expect(refused).toBeUndefined();
  await eventually("the server to have ended", () => !world.server.isRunning);
  expect(world.server.lines.join("\n")).toMatch(/STO000[14]/);

  rmSync(limit);
  await world.server.startAgain();
  expect(await world.ingress.attach(invocationId)).toMatchObject({ status: 200, json: kept.length });
  const answer = await world.ingress.call(["Length", "of"], text);
  expect(answer).toMatchObject({ status: 200, json: text.length });
});
