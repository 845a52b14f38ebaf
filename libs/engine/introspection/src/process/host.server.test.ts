import { afterEach, describe, expect, test } from "@jest/globals";
import { type Clock, concatBytes, fromUtf8, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { MEMORY_CHECK_EVERY_MS, OPEN_RESULTS_MAX, PROCESS_STARTS_MAX } from "../limits.js";
import type { SqlEngine, SqlEngineOptions } from "../options.js";
import type { CompletedChangesPort, LiveRows, SqlAnswer } from "../ports.js";
import { createSqlProcesses } from "./host.js";

const entry = new URL("../../testdata/processes/scripted.mjs", import.meta.url);
const TOO_MUCH_MEMORY = "invalid: the query needs more memory than one statement may use";
const never = new AbortController().signal;
let engine: SqlEngine;
const endings: string[] = [];
afterEach(async () => {
  endings.length = 0;
  await engine[Symbol.asyncDispose]();
});

function start(
  live: Partial<LiveRows> = {},
  options: Partial<SqlEngineOptions> = {},
  completedChanges?: CompletedChangesPort,
  clock: Clock = systemClock,
): SqlEngine {
  const source = { store: { kind: "served" }, partitionCount: 1 } as const;
  const ports = {
    entry,
    source,
    live: live as LiveRows,
    environment: ["PATH"],
    onEnd: (reason: string) => void endings.push(reason),
    ...(completedChanges === undefined ? {} : { completedChanges }),
  };
  // Pauses between two processes are of no length.
  const random = { ...systemRandom, float: () => 0 };
  engine = createSqlProcesses({ ...ports, clock, random, logger: silentLogger }, options);
  return engine;
}

async function textOf(answer: SqlAnswer): Promise<string> {
  if (answer.kind === "refused") return `${answer.reason}: ${answer.message}`;
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.chunks) chunks.push(chunk);
  return fromUtf8(concatBytes(...chunks));
}
const run = async (text: string, signal = never): Promise<string> => textOf(await engine.query(text, "json", signal));

/** The process before, the result of a statement whose client disconnects when it has begun, and the process after it. */
async function leave(how: string): Promise<readonly string[]> {
  const caller = new AbortController();
  const begun = Promise.withResolvers<void>();
  const rules = () => {
    begun.resolve();
    return [];
  };
  start({ rules }, { runningQueriesMax: 1 });
  const first = await run("pid");
  const abandoned = run(`report ${how}`, caller.signal);
  await begun.promise;
  caller.abort();
  return [first, await abandoned, await run("pid")];
}

describe("processes that run statements", () => {
  test("are not started before the first one, and closing what never ran is nothing", async () => {
    await start()[Symbol.asyncDispose]();
    expect(await run("echo x")).toBe("unavailable: the query was cancelled");
  });

  test("return results, and the error of a statement", async () => {
    start();
    expect(await Promise.all([run("echo one"), run("echo two"), run("refuse bad")])).toEqual(["one", "two", "invalid: bad"]);
  });

  test("get a position in the record of changes before each statement, from other threads, too", async () => {
    let position: number | undefined = 17;
    start({}, { runningQueriesMax: 1 }, { position: async () => position, since: () => undefined });
    const first = await run("position");
    position = 18;
    const second = await run("position");
    position = undefined;
    expect([first, second, await run("position")]).toEqual(["17", "18", "undefined"]);
  });

  test("have of the server's environment what they are given", async () => {
    process.env["PERDURE_TEST_SECRET"] = "secret";
    start();
    expect((await run("environment")).split(" ").filter((name) => name !== "PWD" && name !== "_")).toEqual(["PATH"]);
    delete process.env["PERDURE_TEST_SECRET"];
  });

  test.each(["throw", "exit", "nonsense", "long"])(
    "that fail (%s) are reported as not available, and the next statement starts another; other statements continue",
    async (how) => {
      start();
      const caller = new AbortController();
      const neighbour = run("hang", caller.signal);
      expect(await run(how)).toMatch(/^unavailable: .*stopped unexpectedly/);
      expect(await run("echo again")).toBe("again");
      caller.abort();
      expect(await neighbour).toBe("unavailable: the query was cancelled");
    },
  );

  test("that end in the middle of a result cut it off with an error", async () => {
    start();
    await expect(run("half")).rejects.toThrow(/stopped unexpectedly/);
    expect(await run("echo again")).toBe("again");
  });

  test("that fail repeatedly are not started for a while", async () => {
    start({}, { runningQueriesMax: 1 });
    for (let i = 0; i < PROCESS_STARTS_MAX; i++) expect(await run("exit")).toMatch(/stopped unexpectedly/);
    expect(await run("echo x")).toMatch(/^unavailable: .*several times in a row/);
  });

  test("are killed when a statement's time is over and no interrupt ends it", async () => {
    start({}, { statementTimeoutMs: 500 });
    expect(await run("deaf")).toBe("invalid: the query took longer than 0.5 seconds");
    expect(await run("echo again")).toBe("again");
    await run("exit");
    expect(endings).toEqual(["time", "failed"]);
  });

  test("are killed as often as need be, and the next statement is answered nevertheless", async () => {
    start({}, { statementTimeoutMs: 1, runningQueriesMax: 1 });
    for (let i = 0; i <= PROCESS_STARTS_MAX; i++) expect(await run("deaf")).toMatch(/took longer/);
  });

  test("are killed when a statement continues after its client has disconnected", async () => {
    const [first, abandoned, last] = await leave("deaf");
    expect(abandoned).toBe("unavailable: the query was cancelled");
    expect(last).not.toBe(first);
  });

  test("continue when a statement ends after its client has disconnected", async () => {
    const [first, abandoned, last] = await leave("hang");
    expect(abandoned).toBe("unavailable: the query was cancelled");
    expect(last).toBe(first);
  });

  test("are killed when a statement takes more memory than one may", async () => {
    if (process.platform !== "linux") return void start(); // The system does not report the memory of a process.
    start({}, { engineMemoryBytesMax: 1, gatheredBytesMax: 1, heapBytesMax: 64 * 1024 * 1024 });
    expect(await run("take")).toBe(TOO_MUCH_MEMORY);
    expect(await run("echo again")).toBe("again");
  });

  test.each(["fill", "take"])("say so, too, when memory is exhausted between two checks of it (%s)", async (how) => {
    if (process.platform !== "linux") return void start(); // Elsewhere the system sets no limit.
    const rarely: Clock = {
      ...systemClock,
      setTimer: (ms, fire) => systemClock.setTimer(ms === MEMORY_CHECK_EVERY_MS ? 3_600_000 : ms, fire),
    };
    start({}, { engineMemoryBytesMax: 1, gatheredBytesMax: 1, heapBytesMax: 64 * 1024 * 1024 }, undefined, rarely);
    expect([await run(how), endings]).toEqual([TOO_MUCH_MEMORY, ["memory"]]);
    expect(await run("echo again")).toBe("again");
  });

  test("refuse statements beyond their bound, with the advice to retry", async () => {
    start({}, { runningQueriesMax: 1, waitingQueriesMax: 1 });
    const caller = new AbortController();
    const kept = Array.from({ length: 2 }, () => run("hang", caller.signal));
    expect(await engine.query("echo x", "json", never)).toMatchObject({ reason: "busy", retryAfterSeconds: 1 });
    caller.abort();
    expect(new Set(await Promise.all(kept))).toEqual(new Set(["unavailable: the query was cancelled"]));
  });

  test("hold no more results that are being read than they can bear", async () => {
    start({}, { runningQueriesMax: 1 });
    for (let i = 0; i < OPEN_RESULTS_MAX; i++) await engine.query("open", "json", never);
    expect(await engine.query("echo x", "json", never)).toMatchObject({ reason: "busy", retryAfterSeconds: 1 });
  });

  test("are not used by clients that have disconnected", async () => {
    start();
    expect(await run("hang", AbortSignal.abort())).toBe("unavailable: the query was cancelled");
  });

  test("end with their owner, and clients that wait are answered", async () => {
    start();
    const waiting = run("hang");
    await engine[Symbol.asyncDispose]();
    expect(await waiting).toBe("unavailable: the query was cancelled");
  });
});

describe("live rows of the server", () => {
  test("goes to the process page by page", async () => {
    let rowsMade = 0;
    start({
      *rules() {
        for (; rowsMade < 1000; rowsMade++) yield { pattern: String(rowsMade) } as never;
      },
    });
    expect(await run("request rules")).toBe("1000");
    expect(rowsMade).toBe(1000);
  });

  test.each([
    [
      "a reader that fails",
      () => {
        throw new Error("no rows today");
      },
      /no rows today/,
    ],
    ["a row that is not plain data", () => [{ pattern: () => "x" }], /could not be cloned/],
  ])("is reported when it cannot be read: %s", async (_what, rules, message) => {
    start({ rules: rules as unknown as LiveRows["rules"] });
    expect(await run("request rules")).toMatch(message);
    expect(await run("request nothingOfTheKind")).toMatch(/no live rows called nothingOfTheKind/);
  });
});
