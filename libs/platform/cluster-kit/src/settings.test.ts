import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { group, loadConfig, printConfig } from "@perdure/process-kit";
import { makeCertificates } from "@perdure/testkit";
import {
  metadataSettings,
  peerCredentialsOf,
  redisOptionsOf,
  redisSettings,
  registryAddresses,
  required,
  tlsSettings,
} from "./settings.js";

const folder = mkdtempSync(join(tmpdir(), "perdure-cluster-"));
afterAll(() => rmSync(folder, { recursive: true }));

const schema = group("All of them.", {
  registry: registryAddresses,
  redis: redisSettings,
  metadata: metadataSettings,
  tls: tlsSettings,
});

function load(...flags: readonly string[]) {
  return loadConfig(schema, { file: undefined, environment: {}, reservedVariables: new Set(), flags, aliases: [] });
}

describe("addresses of others", () => {
  test("are one line with commas, or a list in a file", () => {
    expect(load("--registry.addresses", "one:1, [::1]:2").values.registry.addresses).toEqual(["one:1", "[::1]:2"]);
    const file = join(folder, "list.toml");
    writeFileSync(file, '[registry]\naddresses = ["one:1", "two:2"]\n');
    const inputs = { file, environment: {}, reservedVariables: new Set<string>(), flags: [], aliases: [] };
    expect(loadConfig(schema, inputs).values.registry.addresses).toEqual(["one:1", "two:2"]);
  });

  test("without a port are refused by the name of the setting", () => {
    expect(() => load("--registry.addresses", "one")).toThrow(/registry\.addresses.*must be like host:port/);
  });

  test("that are missing are reported by name", () => {
    expect(() => required("registry.addresses", load().values.registry.addresses)).toThrow("'registry.addresses' must be set");
  });
});

describe("addresses of servers", () => {
  test("show everything but their passwords", () => {
    const shown = printConfig(
      schema,
      load("--redis.url", "redis://me:hidden@r:1/2", "--metadata.postgres-url", "postgres://you:hidden@p/db"),
    );
    expect(shown).toContain('url = "redis://me:***@r:1/2"');
    expect(shown).toContain('postgres-url = "postgres://you:***@p/db"');
    expect(shown).not.toContain("hidden");
  });

  test("of Redis become options of its driver", () => {
    const { redis } = load("--redis.url", "rediss://me:p%40ss@r/2", "--redis.nodes", "s:7001", "--redis.cluster", "true").values;
    const options = redisOptionsOf(redis, "perdure-test");
    expect(options).toMatchObject({
      nodes: [
        { host: "r", port: 6379 },
        { host: "s", port: 7001 },
      ],
      cluster: true,
      username: "me",
      database: 2,
      tls: {},
      name: "perdure-test",
    });
    expect(options.password?.reveal()).toBe("p@ss");
    expect(() => redisOptionsOf(load("--redis.url", "redis://r/x").values.redis, "")).toThrow("redis.url");
  });

  test("of Redis with TLS may name authorities, which are checked", async () => {
    const { trusted } = await makeCertificates();
    const [file, empty, missing] = ["ca.pem", "empty.pem", "missing.pem"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const optionsWith = (url: string, ca: string) =>
      redisOptionsOf(load("--redis.url", url, "--redis.ca-file", ca).values.redis, "perdure-test");
    writeFileSync(file, trusted.authority);
    writeFileSync(empty, "");
    expect(optionsWith("rediss://r", file)).toMatchObject({ tls: {}, caFile: file });
    expect(() => optionsWith("redis://r", file)).toThrow(/OPS0001.*rediss:/);
    expect(() => optionsWith("rediss://r", empty)).toThrow(/OPS0001.*redis\.ca-file/);
    expect(() => optionsWith("rediss://r", missing)).toThrow(/OPS0001.*no such file/);
  });

  test("of another kind are refused without showing them", () => {
    expect(() => load("--metadata.postgres-url", "mysql://h/db")).toThrow("must be like postgres://");
  });
});

describe("credentials of processes", () => {
  test("is a token of some length where there are no certificates", () => {
    const file = join(folder, "token");
    writeFileSync(file, `${"t".repeat(32)}\n`);
    const credentials = peerCredentialsOf(load("--tls.token-file", file).values.tls);
    expect(credentials !== undefined && "token" in credentials && credentials.token.reveal()).toBe("t".repeat(32));
    expect(() => peerCredentialsOf(load("--tls.token-file", file, "--tls.authority-file", file).values.tls)).toThrow(
      "'tls.token-file' is for processes without the other files",
    );
    writeFileSync(file, "short");
    expect(() => peerCredentialsOf(load("--tls.token-file", file).values.tls)).toThrow("must be 32 to 1024 visible ASCII");
  });

  test("is all three files of certificates, or none of them", () => {
    const file = join(folder, "some.pem");
    writeFileSync(file, "PEM");
    expect(peerCredentialsOf(load().values.tls)).toBeUndefined();
    const all = ["--tls.authority-file", file, "--tls.certificate-file", file, "--tls.private-key-file", file];
    expect(peerCredentialsOf(load(...all).values.tls)).toEqual({ authority: "PEM", certificate: "PEM", privateKey: "PEM" });
    expect(() => peerCredentialsOf(load(...all.slice(0, 4)).values.tls)).toThrow("'tls.private-key-file' must be set");
    expect(() => peerCredentialsOf(load(...all.slice(0, 5), join(folder, "none")).values.tls)).toThrow(
      /tls\.private-key-file.*no such file/,
    );
  });
});
