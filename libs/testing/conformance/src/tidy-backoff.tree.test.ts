/**
 * Why: clients that lose a server together must not return together. The one `Backoff` of `libs/core/base` draws each pause at random; this checks on
 * the sources that no code multiplies a pause by hand instead.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";

const NOT_CHECKED: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", "test", "testing", "testdata", "bench"]);

/** Files that may compute growing pauses, with the reason. */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  ["libs/core/base/src/backoff.ts", "the one place"],
  [
    "libs/engine/invoker/src/retry-budget.ts",
    "retry policies of users, with the jitter of the specification (service-protocol §8.2)",
  ],
  ["services/cli/src/commands/manage/watch.ts", "how often one terminal polls while nothing changes; no retry"],
]);

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NOT_CHECKED.has(entry.name) ? [] : sourcesBelow(path);
    return /\.(ts|tsx|mjs)$/.test(path) && !path.includes(".test.") ? [path] : [];
  });
}

/** Something in milliseconds, times a power: `FIRST_MS * 2 ** failures`, `firstMs * factor ** n`, `PAUSE_MS * Math.pow(2, n)`. */
const POWER = /\b\w*(?:_MS|Ms|_MS_FIRST|MS_MAX)\b\s*\*\s*(?:[\w.#]+\s*\*\*|Math\.pow\(|\(\s*1\s*<<)/;
/** A power times something in milliseconds. */
const POWER_FIRST = /(?:\*\*\s*[\w.#()+\- ]+?|Math\.pow\([^)]*\))\s*\*\s*[\w.#]*(?:_MS|Ms)\b/;
/** A pause that becomes a multiple of itself: `pauseMs *= 2`, `pauseMs = Math.min(pauseMs * 2, …)`. */
const MULTIPLE =
  /(?:\b\w*(?:[dD]elay|[pP]ause|[wW]ait|[bB]ackoff|[rR]etry|[aA]gain)\w*\s*\*=)|([\w.#]*\b\w*(?:[dD]elay|[pP]ause|[wW]ait|[bB]ackoff|[rR]etry|[aA]gain)\w*)\s*=[^;]*\1\s*\*/;

function growsByHand(line: string): boolean {
  return POWER.test(line) || POWER_FIRST.test(line) || MULTIPLE.test(line);
}

describe("pauses between tries", () => {
  test.each([
    "const pauseMs = Math.min(AGAIN_FIRST_MS * 2 ** this.#failures++, AGAIN_LONGEST_MS);",
    "await pause(clock, DISCOVERY_RETRY_FIRST_MS * 2 ** (attempt - 1), signal);",
    "const grown = policy.initialIntervalMs * policy.factor ** this.#used;",
    "delayMs = Math.min(delayMs * 2, LONGEST_MS);",
    "this.#pauseMs = Math.min(this.#pauseMs * 1.2, LONGEST_MS);",
    "retryMs *= 2;",
    "setTimeout(again, 2 ** failures * FIRST_MS);",
  ])("%s is found", (line) => {
    expect(growsByHand(line)).toBe(true);
  });

  test.each(["const size = 2 ** 32;", "const boundMs = OFFER_MS * 2;", "quietMs = nowMs - sinceMs;", "const waits = a * b;"])(
    "%s is not such a pause",
    (line) => {
      expect(growsByHand(line)).toBe(false);
    },
  );

  test("come from `Backoff` everywhere", () => {
    const result = ["libs", "services", "deploy"]
      .flatMap(sourcesBelow)
      .filter((path) => !ALLOWED.has(path))
      .flatMap((path) => {
        const lines = readFileSync(join(ROOT, path), "utf8").split("\n");
        return lines.flatMap((line, at) => (growsByHand(line) ? [`${path}:${at + 1} ${line.trim()}`] : []));
      });
    expect(result).toEqual([]);
  });

  test("are allowed by hand only where that is still done", () => {
    for (const path of ALLOWED.keys()) {
      const lines = readFileSync(join(ROOT, path), "utf8").split("\n");
      expect([path, lines.some(growsByHand)]).toEqual([path, true]);
    }
  });
});
