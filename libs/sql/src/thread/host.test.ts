import { afterEach, describe, expect, test } from "@jest/globals";
import { concatBytes, fromUtf8, silentLogger, systemClock } from "@perdure/base";
import { OPEN_RESULTS_MAX, THREAD_STARTS_MAX } from "../limits.js";
import type { SqlEngine, SqlEngineOptions } from "../options.js";
import type { LiveRows, SqlAnswer } from "../ports.js";
import { createSqlThread } from "./host.js";

const entry = new URL("../../testdata/threads/scripted.mjs", import.meta.url);
const never = new AbortController().signal;
let engine: SqlEngine;
afterEach(async () => {
  await engine[Symbol.asyncDispose]();
});

function start(live: Partial<LiveRows> = {}, options: Partial<SqlEngineOptions> = {}): SqlEngine {
  const source = { store: { kind: "level", directory: "" }, partitionCount: 1 } as const;
  engine = createSqlThread({ entry, source, live: live as LiveRows, clock: systemClock, logger: silentLogger }, options);
  return engine;
}

async function told(answer: SqlAnswer): Promise<string> {
  if (answer.kind === "refused") return `${answer.reason}: ${answer.message}`;
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.chunks) chunks.push(chunk);
  return fromUtf8(concatBytes(...chunks));
}
const ask = async (text: string, signal = never): Promise<string> => told(await engine.query(text, "json", signal));

describe("a thread that runs statements", () => {
  test("is not started before the first one, and closing what never ran is nothing", async () => {
    await start()[Symbol.asyncDispose]();
    expect(await ask("echo x")).toBe("unavailable: the query was cancelled");
  });

  test("answers, and says what was wrong with a statement", async () => {
    start();
    expect(await Promise.all([ask("echo one"), ask("echo two"), ask("refuse bad")])).toEqual(["one", "two", "invalid: bad"]);
  });

  test.each(["throw", "exit", "fill"])(
    "that dies (%s) is reported as not available, and the next statement starts another",
    async (how) => {
      start();
      const [lost, alsoLost] = await Promise.all([ask(how), ask("hang")]);
      expect(lost).toMatch(/^unavailable: .*stopped unexpectedly/);
      expect(alsoLost).toMatch(/^unavailable: .*stopped unexpectedly/);
      expect(await ask("echo again")).toBe("again");
    },
  );

  test("that dies in the middle of a result cuts it off with an error", async () => {
    start();
    await expect(ask("half")).rejects.toThrow(/stopped unexpectedly/);
    expect(await ask("echo again")).toBe("again");
  });

  test("that dies again and again is left alone for a while", async () => {
    start();
    for (let i = 0; i < THREAD_STARTS_MAX; i++) expect(await ask("exit")).toMatch(/stopped unexpectedly/);
    expect(await ask("echo x")).toMatch(/^unavailable: .*several times in a row/);
  });

  test("takes no more than it can bear; others are asked to come back", async () => {
    start({}, { runningQueriesMax: 1, waitingQueriesMax: 1 });
    const caller = new AbortController();
    const kept = Array.from({ length: 2 + OPEN_RESULTS_MAX }, () => ask("hang", caller.signal));
    expect(await engine.query("echo x", "json", never)).toMatchObject({ reason: "busy", retryAfterSeconds: 1 });
    caller.abort();
    expect(new Set(await Promise.all(kept))).toEqual(new Set(["unavailable: the query was cancelled"]));
  });

  test("is asked nothing for callers who have gone already", async () => {
    start();
    expect(await ask("hang", AbortSignal.abort())).toBe("unavailable: the query was cancelled");
  });

  test("ends with its owner, and whoever waits hears of it", async () => {
    start();
    const waiting = ask("hang");
    await engine[Symbol.asyncDispose]();
    expect(await waiting).toBe("unavailable: the query was cancelled");
  });
});

describe("what only the process knows", () => {
  test("goes to the thread page by page", async () => {
    let rowsMade = 0;
    start({
      *rules() {
        for (; rowsMade < 1000; rowsMade++) yield { pattern: String(rowsMade) } as never;
      },
    });
    expect(await ask("ask rules")).toBe("1000");
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
    ["a row that is no plain data", () => [{ pattern: () => "x" }], /could not be cloned/],
  ])("is reported when it cannot be read: %s", async (_what, rules, message) => {
    start({ rules: rules as unknown as LiveRows["rules"] });
    expect(await ask("ask rules")).toMatch(message);
    expect(await ask("ask nothingOfTheKind")).toMatch(/no live rows called nothingOfTheKind/);
  });
});
