/** A connection error of an edge process closes that connection only; any other uncaught error ends the process. */

import { connect } from "node:http2";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT, readyFactsOf } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
import { http2ProtocolErrors, sendSegments } from "@perdure/testkit";

const TEST_MS = 60_000;

interface Running extends AsyncDisposable {
  readonly child: ChildProgram;
  readonly port: number;
}

async function start(kind: "edge" | "other"): Promise<Running> {
  const args = [join(ROOT, "deploy/run-ts.mjs"), join(ROOT, "libs/platform/process-kit/testdata/edge-process.ts"), kind];
  const child = await ChildProgram.start({ command: process.execPath, args, env: { PATH: process.env["PATH"] } });
  const { port } = await child.ready(() => readyFactsOf(child.lines));
  return { child, port: Number(port), [Symbol.asyncDispose]: async () => void (await child.kill()) };
}

/** The body of the answer; rejects when the connection breaks. */
function get(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`).on("error", reject);
    session.on("close", () => reject(new Error("closed")));
    let body = "";
    const stream = session.request({ ":path": path }).setEncoding("utf8").on("error", reject);
    stream.on("data", (chunk: string) => {
      body += chunk;
    });
    stream.on("end", () => {
      resolve(body);
      session.destroy();
    });
  });
}

const breakConnection = async (port: number): Promise<void> => {
  const { frames } = http2ProtocolErrors.find(
    ({ name }) => name === "an overflow of the stream's window",
  ) as (typeof http2ProtocolErrors)[0];
  await sendSegments(port, [Buffer.concat(frames("a"))]);
};

test(
  "T21: an edge process survives an uncaught error of one connection, counts it and logs it; a broken invariant ends it",
  async () => {
    await using running = await start("edge");
    await breakConnection(running.port);
    expect(await get(running.port, "/")).toContain("\nperdure_uncaught_connection_errors_total 1\n");
    expect(running.child.lines.filter((line) => line.includes("uncaught error of one connection"))).toHaveLength(1);
    await get(running.port, "/invariant").catch(() => undefined);
    expect(await running.child.exited).toMatchObject({ code: 1 });
    expect(running.child.lines.join("\n")).toContain("this cannot be");
  },
  TEST_MS,
);

test(
  "every other process ends by any uncaught error",
  async () => {
    await using running = await start("other");
    await breakConnection(running.port);
    expect(await running.child.exited).toMatchObject({ code: 1 });
  },
  TEST_MS,
);
