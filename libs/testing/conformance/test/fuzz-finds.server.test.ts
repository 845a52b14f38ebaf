/**
 * The fuzzer finds its two kinds of defects: a program that one connection ends, and a program that keeps connections whose peers are
 * gone.
 */

import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT, readyFactsOf } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
import { FRAME, HTTP2_PREFACE, http2Frame } from "@perdure/testkit";
import { listeningTarget } from "./fuzzer/cluster-targets.js";
import { drawConnection } from "./fuzzer/draw.js";
import { HEALTHY_MS } from "./fuzzer/limits.js";
import { fuzzTarget } from "./fuzzer/run.js";
import type { Subject, Target } from "./fuzzer/subject.js";

const TEST_MS = 120_000;
const SEED = 7;
const CONNECTIONS = 60;
/** The planted leak never closes. */
const DRAIN_MS = 500;

/** A program of the tests that reports its port when it is ready. */
class Planted implements Subject, AsyncDisposable {
  readonly name = "planted";
  readonly #args: readonly string[];
  #child: ChildProgram | undefined;
  #port = 0;

  constructor(...args: string[]) {
    this.#args = args;
  }

  get pid(): number {
    return this.#started.pid;
  }

  get isRunning(): boolean {
    return this.#started.isRunning;
  }

  get lastLines(): readonly string[] {
    return this.#started.lines.slice(-5);
  }

  get #started(): ChildProgram {
    if (this.#child === undefined) throw new Error("the planted program was not started");
    return this.#child;
  }

  async restart(): Promise<void> {
    await this.#child?.kill();
    const env = { PATH: process.env["PATH"] };
    const child = await ChildProgram.start({ command: process.execPath, args: this.#args, env });
    this.#child = child;
    const { port } = await child.ready(() => readyFactsOf(child.lines));
    this.#port = Number(port);
  }

  target(): Target {
    const requests = { authority: "a", paths: ["/"], headers: {} };
    return listeningTarget({
      name: "planted",
      subject: this,
      port: () => this.#port,
      speech: "http",
      requests,
      healthy: expectBytes,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child?.kill();
  }
}

/** Both programs answer the beginning of HTTP/2 with bytes of theirs. */
async function expectBytes(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1", () => socket.write(Buffer.concat([HTTP2_PREFACE, http2Frame(FRAME.settings, 0, 0)])));
  try {
    await once(socket, "data", { signal: AbortSignal.timeout(HEALTHY_MS) });
  } finally {
    socket.destroy();
  }
}

test("a seed, a listener and a number stand for one connection", () => {
  const draw = (seed: number, index: number) =>
    drawConnection(seed, "planted", index, "http", { authority: "a", paths: ["/"], headers: {} });
  expect(draw(1, 2)).toEqual(draw(1, 2));
  expect(draw(1, 2)).not.toEqual(draw(1, 3));
  expect(draw(1, 2)).not.toEqual(draw(2, 2));
});

test(
  "a program that a protocol error ends is found, with the connection that did it",
  async () => {
    const edge = [join(ROOT, "deploy/run-ts.mjs"), join(ROOT, "libs/platform/process-kit/testdata/edge-process.ts"), "other"];
    await using planted = new Planted(...edge);
    await planted.restart();
    const fuzzing = fuzzTarget(planted.target(), { seed: SEED, connections: CONNECTIONS });
    await expect(fuzzing).rejects.toThrow(/of seed 7 .*planted ended:.*Connection \d+ ends it: http2: /s);
  },
  TEST_MS,
);

test(
  "a program that keeps connections is found, with the first connection that stays",
  async () => {
    await using planted = new Planted(join(ROOT, "libs/testing/conformance/testdata/leaking-server.mjs"));
    await planted.restart();
    const fuzzing = fuzzTarget(planted.target(), { seed: SEED, connections: CONNECTIONS, drainMs: DRAIN_MS });
    await expect(fuzzing).rejects.toThrow(/connections are left after .*Connection \d+ stays open for more than/s);
  },
  TEST_MS,
);
