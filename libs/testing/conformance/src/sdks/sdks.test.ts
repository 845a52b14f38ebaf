import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";
import { versionIn } from "./build.js";
import { LANGUAGES } from "./language.js";
import { base58, MODES } from "./mode.js";
import { SdkReport } from "./report.js";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

describe("the published SDKs that are tested", () => {
  const pins: Readonly<Record<string, RegExp>> = {
    python: /^restate-sdk==(.*)$/m,
    go: /sdk-go v(.*)$/m,
    java: /<restate.version>(.*)</,
    rust: /name = "restate-sdk"\nversion = "(.*)"/,
  };
  const locks: Readonly<Record<string, string>> = {
    python: "requirements.txt",
    go: "go.mod",
    java: "pom.xml",
    rust: "Cargo.lock",
  };

  test.each(LANGUAGES)("$name: the version is the one that its lock file pins", ({ name, version, sources }) => {
    const pinned = pins[name]?.exec(readFileSync(join(sources, locks[name] ?? ""), "utf8"))?.[1];
    expect(pinned).toBe(version);
  });

  test.each(LANGUAGES)("$name: docs/protocol/sdks.md has version and service protocols", ({ sdk, version, speaks }) => {
    expect(read("docs/protocol/sdks.md")).toContain(`\`${sdk}\` | ${version} | ${speaks.join("–")} |`);
  });

  test("every mode is played by some SDK, and every SDK has a mode for each transport it supports", () => {
    const plays = (mode: (typeof MODES)[number]) =>
      LANGUAGES.filter(({ transports, speaks }) => transports.includes(mode.transport) && mode.protocol <= speaks[1]);
    for (const mode of MODES) expect(plays(mode)).not.toEqual([]);
    for (const language of LANGUAGES)
      for (const transport of language.transports)
        expect(MODES.filter((mode) => mode.transport === transport && plays(mode).includes(language))).not.toEqual([]);
  });
});

test.each([
  ["Python 3.11.7", 3, 11],
  ["go version go1.26.8 linux/amd64", 1, 26],
  ["javac 17.0.15", 17, 0],
  ["Apache Maven 3.8.7", 3, 8],
  ["cargo 1.95.0 (f2d3ce0bd 2026-03-21)", 1, 95],
])("the version in '%s' is read", (text, major, minor) => {
  expect(versionIn(text)).toEqual({ major, minor });
});

test("a text without a version has none", () => {
  expect(versionIn("command not found")).toBeUndefined();
});

test.each([
  ["", ""],
  ["00", "1"],
  ["0000ff", "115Q"],
  ["73696d706c792061206c6f6e6720737472696e67", "2cFupjhnEsSn59qHXstmK2ffpLv2"],
])("base58 of %s is %s", (hex, text) => {
  expect(base58(Buffer.from(hex, "hex"))).toBe(text);
});

test("a report has a line for each scenario, the reason of each failure, and the totals", () => {
  const lines: string[] = [];
  const report = new SdkReport((line) => lines.push(line));
  report.add("sings", { kind: "passed", ms: 12.4 });
  report.add("dances", { kind: "failed", ms: 3, reason: "stumbled\nand fell\n" });
  report.add("flies", { kind: "skipped", reason: "no wings" });
  expect(lines).toEqual([
    "    ok   sings (12 ms)",
    "    FAIL dances (3 ms)",
    "         stumbled",
    "         and fell",
    "    skip flies (no wings)",
  ]);
  expect(report.sum).toBe("1 passed, 1 failed, 1 skipped");
  expect(report.hasFailures).toBe(true);
});
