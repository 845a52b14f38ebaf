/**
 * Why: a hand-written bound of a cache or a rate is short, and wrong in its own way each time: one did not evict on a second path, one
 * refilled with a clock that jumps, one let clients fill it with keys that do not exist. `BoundedCache`, `LoadingCache`, `TokenBucket` and
 * `RateLimiter` of `libs/core/base` have tests for that; this checks on the sources that no other code evicts or refills by hand.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";

const NOT_CHECKED: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", "test", "testing", "testdata", "bench"]);

/** Files that may evict or refill by hand, with the reason. */
const ALLOWED: readonly (readonly [RegExp, string])[] = [
  [/^libs\/core\/base\/src\/bounded-cache\.ts$/, "the one cache"],
  [/^libs\/core\/base\/src\/rate-limiter\.ts$/, "the one limiter"],
  [
    /^libs\/engine\/partition-processor\/src\/(?:\w[\w-]*\/)?state-cache\.ts$/,
    "cached states grow with each durable write, and their weights with them",
  ],
  [
    /^libs\/engine\/invoker\/src\/pace\.ts$/,
    "two resources with reserves of their own; its numbers are part of the simulator's fingerprints",
  ],
];

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NOT_CHECKED.has(entry.name) ? [] : sourcesBelow(path);
    return /\.(ts|tsx|mjs)$/.test(path) && !path.includes(".test.") ? [path] : [];
  });
}

/** Signs of an eviction or a refill; `\s*` spans lines, since the formatter breaks long ones. */
const SIGNS: readonly RegExp[] = [
  // The first key is deleted: `map.delete(map.keys().next().value as string)`.
  /\.delete\(\s*[\w.#]+\.(?:keys|values)\(\)\.next\(\)/,
  // The first keys are deleted in a loop that a size ends: `for (const oldest of map.keys()) { if (map.size <= MAX) break; map.delete(oldest) }`.
  /for \(const \[?\w+[^()]*? of [\w.#]+(?:\.(?:keys|entries)\(\))?\)\s*\{\s*if \([^;{}]*\.size <=? [^;{}]*\) break;/,
  // The first key is deleted in a loop that ends with it: `for (const oldest of map.keys()) if (map.delete(oldest)) break;`.
  /for \(const \w+ of [\w.#]+(?:\.keys\(\))?\) if \([\w.#]+\.delete\(\w+\)\) break;/,
  // All is deleted when it is much: `if (cache.size >= MAX) cache.clear();`.
  /if \((?<map>[\w.#]+)\.size >=? (?!0\))[^()]+\)\s*\{?\s*\k<map>\.clear\(\);/,
  // Tokens that time brings, up to a burst: `Math.min(burst, tokens + (nowMs - atMs) * rate)`.
  /Math\.min\([^;]*\+[^;]*(?:now|nowMs|Now)\b[^;]* - [^;]*\)[^;]*[*/]/,
  // The same in several statements: `Math.min(burst, tokens + added)`.
  /Math\.min\([^;]*(?:tokens|permits|credits?|allowance) \+ /i,
  // Used parts that time takes away: `Math.max(0, used - seconds * rate)`.
  /Math\.max\(0, [\w.#]+ - [\w.#]*(?:[sS]econds|Ms)\b \* /,
];

const isByHand = (text: string): boolean => SIGNS.some((sign) => sign.test(text));

describe("bounds of caches and rates", () => {
  test.each([
    "if (this.#answers.size > MAX) this.#answers.delete(this.#answers.keys().next().value as string);",
    "entries.delete(\n      entries.keys().next().value as K,\n    );",
    "for (const oldest of this.#rows.keys()) {\n      if (this.#rows.size <= ROWS_KEPT) break;\n      this.#rows.delete(oldest);\n    }",
    "for (const oldest of this.#started) if (this.#started.delete(oldest)) break;",
    "if (cache.size >= ENDPOINT_CACHE_MAX) cache.clear();",
    "if (this.#ways.size > MAX) {\n  this.#ways.clear();\n}",
    "this.#left = Math.min(this.#perSecond, this.#left + (Math.max(0, nowMs - this.#atMs) / 1000) * this.#perSecond);",
    "const calls = Math.min(burst, before.calls + ((nowMs - before.atMs) * perSecond) / 1_000);",
    "this.#tokens = Math.min(this.#burst, this.#tokens + added);",
    "this.#bytes = Math.max(0, this.#bytes - seconds * bytesPerSecond) + handled;",
  ])("%s is found", (text) => {
    expect(isByHand(text)).toBe(true);
  });

  test.each([
    "const first = map.keys().next();",
    "for (const key of keys) { if (key.length > 3) break; map.delete(key); }",
    "if (tooLarge.size >= TOO_LARGE_MAX) this.#tooLarge.delete(partition);",
    "if (this.#fetched.size > 0) this.#fetched.clear();",
    "if (this.#ids.size > MAX) this.#pending.clear();",
    "const waitMs = Math.min(longestMs, dueMs - nowMs);",
    "const seconds = Math.max(RATE_SYNC_MS, nowMs - this.#lastAtMs) / 1_000;",
  ])("%s is not such a bound", (text) => {
    expect(isByHand(text)).toBe(false);
  });

  const sources = ["libs", "services", "deploy"].flatMap(sourcesBelow);

  test("are those of `libs/core/base` everywhere", () => {
    const result = sources
      .filter((path) => !ALLOWED.some(([allowed]) => allowed.test(path)))
      .flatMap((path) => {
        const text = readFileSync(join(ROOT, path), "utf8");
        return SIGNS.flatMap((sign) => {
          const match = sign.exec(text);
          return match === null
            ? []
            : [`${path}:${text.slice(0, match.index).split("\n").length} ${match[0].replace(/\s+/g, " ")}`];
        });
      });
    expect(result).toEqual([]);
  });

  test.each(ALLOWED)("are allowed by hand in %s, where that is still done", (allowed) => {
    const texts = sources.filter((path) => allowed.test(path)).map((path) => readFileSync(join(ROOT, path), "utf8"));
    expect(texts.map(isByHand)).toEqual([true]);
  });
});
