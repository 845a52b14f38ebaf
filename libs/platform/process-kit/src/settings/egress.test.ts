import { describe, expect, test } from "@jest/globals";
import { type Logger, silentLogger } from "@perdure/base";
import { loadConfig } from "../config/load.js";
import { printConfig } from "../config/print.js";
import { group } from "../config/setting.js";
import { egressGuardOf, egressSettings } from "./egress.js";

const schema = group("Settings of a test.", { egress: egressSettings });

function load(...flags: readonly string[]) {
  return loadConfig(schema, { file: undefined, environment: {}, flags, reservedVariables: new Set(), aliases: [] });
}

describe("settings of the egress guard", () => {
  test("are open by default: a laptop calls localhost", () => {
    const { egress } = load().values;
    expect(egress).toEqual({ policy: "open", allowPlainHttp: false, ownDomains: [], ownRanges: [], allow: [] });
    expect(egressGuardOf(egress, silentLogger)).toBeUndefined();
  });

  test("make a guard that keeps to them", () => {
    const { egress } = load(
      "--egress.policy=guarded",
      '--egress.own-domains=["Perdure.example"]',
      '--egress.own-ranges=["93.184.217.0/24"]',
      '--egress.allow=["10.1.0.0/16","http://relay.internal:9080/2abc/"]',
    ).values;
    const guard = egressGuardOf(egress, silentLogger)!;
    const answers = {
      "https://example.com/": true,
      "http://example.com/": false,
      "https://api.perdure.example/": false,
      "https://93.184.217.1/": false,
      "https://10.1.2.3/": true,
      "https://10.2.2.3/": false,
      "http://relay.internal:9080/2abc/t": true,
      "http://relay.internal:9080/2other/t": false,
    };
    for (const [url, isAllowed] of Object.entries(answers)) expect([url, guard.allows(url)]).toEqual([url, isAllowed]);
    const plain = load("--egress.policy=guarded", "--egress.allow-plain-http").values.egress;
    expect(egressGuardOf(plain, silentLogger)!.allows("http://example.com/")).toBe(true);
  });

  test.each([
    ["--egress.policy=shut", "egress.policy"],
    ['--egress.own-domains=["*.perdure.example"]', "egress.own-domains"],
    ['--egress.own-ranges=["10.0.0.1/8"]', "egress.own-ranges"],
    ['--egress.allow=["ftp://relay"]', "egress.allow"],
  ])("that cannot be are refused by name: %s", (flag, name) => {
    expect(() => load(flag)).toThrow(name);
  });

  test("print as a file with the same meaning", () => {
    const printed = printConfig(schema, load('--egress.own-domains=["a.example","b.example"]'));
    expect(printed).toContain('own-domains = ["a.example", "b.example"]');
    expect(printed).toContain('policy = "open"');
  });

  test("what is refused is logged with its reason and without the secrets in a URL", () => {
    const lines: unknown[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields, message) => lines.push([fields, message]) };
    const guard = egressGuardOf(load("--egress.policy=guarded").values.egress, logger)!;
    guard.allows("https://user:hunter2@example.com/?token=hunter2");
    guard.allows("https://10.0.0.1/a?token=hunter2#hunter2");
    guard.allows("https://10.0.0.1/hooks/hunter2");
    expect(lines).toEqual([
      [{ destination: "https://***@example.com/", reason: "credentials in the URL" }, "a destination is refused"],
      [{ destination: "https://10.0.0.1/a", reason: "a fragment in the URL" }, "a destination is refused"],
      [{ destination: "https://10.0.0.1/hooks/***", reason: expect.any(String) }, "a destination is refused"],
    ]);
  });
});
