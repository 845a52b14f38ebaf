import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { PerdureError, Secret } from "@perdure/base";
import { parse as parseToml } from "smol-toml";
import { z } from "zod";
import { type ConfigInputs, loadConfig } from "./load.js";
import { printConfig } from "./print.js";
import {
  boolean,
  byteSize,
  choice,
  custom,
  decimal,
  duration,
  group,
  integer,
  optionalByteSize,
  optionalInteger,
  optionalText,
  port,
  text,
  textMap,
  tomlValue,
} from "./setting.js";

const schema = group("Settings of a test.", {
  clusterName: text("localcluster", { sentence: "Name of the cluster." }),
  baseDir: text("perdure-data", { sentence: "Where data is kept." }),
  keyFile: optionalText({ sentence: "A key." }),
  quiet: boolean(false, { sentence: "Say nothing." }),
  extraHeaders: textMap({ a: "b" }, { sentence: "Headers.", secret: true }),
  logFormat: choice(["pretty", "json"], "pretty", { sentence: "Format of lines." }),
  accessToken: custom(
    z
      .string()
      .transform((value) => new Secret(value))
      .optional(),
    { sentence: "A token.", form: "scalar" },
  ),
  ingress: group("The listener.", {
    bindPort: port(8080, { sentence: "Port." }),
    requestSizeLimit: byteSize("32MiB", { sentence: "Largest body." }),
    callLimit: optionalInteger({ sentence: "At most this many calls.", min: 1 }),
    clusters: custom(z.array(z.strictObject({ name: z.string(), brokers: z.array(z.string()) })).prefault([]), {
      sentence: "Kafka clusters.",
      show: (list) => `[${list.map((c) => `{ name = ${tomlValue(c.name)}, brokers = ${tomlValue(c.brokers)} }`).join(", ")}]`,
    }),
  }),
  worker: group("The worker.", {
    cleanupInterval: duration("1h", { sentence: "How often.", minMs: 1 }),
    storageRocksdb: group("Storage.", { path: optionalText({ sentence: "Folder." }) }),
    invoker: group("Attempts.", {
      inactivityTimeout: duration("1m", { sentence: "Silence." }),
      messageSizeLimit: optionalByteSize({ sentence: "Largest message." }),
      defaultRetryPolicy: group("Retries.", {
        exponentiationFactor: decimal(2, { sentence: "Growth.", min: 1, max: 100 }),
        maxAttempts: integer(70, { sentence: "Attempts.", min: 1 }),
      }),
    }),
  }),
});

const folder = mkdtempSync(join(tmpdir(), "perdure-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

function load(inputs: Partial<Omit<ConfigInputs, "file">> & { toml?: string } = {}) {
  let file: string | undefined;
  if (inputs.toml !== undefined) {
    file = join(folder, "perdure.toml");
    writeFileSync(file, inputs.toml);
  }
  const defaults = { environment: {}, flags: [], reservedVariables: new Set<string>(), aliases: [] };
  return loadConfig(schema, { ...defaults, ...inputs, file });
}

function refusal(inputs: Parameters<typeof load>[0]): PerdureError {
  try {
    load(inputs);
  } catch (cause) {
    if (cause instanceof PerdureError) return cause;
    throw cause;
  }
  throw new Error("the configuration was accepted");
}

describe("sources", () => {
  test("without any source every setting has its default, in the unit that code uses", () => {
    const { values, origins } = load();
    expect(values.clusterName).toBe("localcluster");
    expect(values.keyFile).toBeUndefined();
    expect(values.ingress).toEqual({ bindPort: 8080, requestSizeLimit: 32 * 1024 * 1024, clusters: [] });
    expect(values.worker.invoker.inactivityTimeout).toBe(60_000);
    expect(values.worker.cleanupInterval).toBe(3_600_000);
    expect(origins.size).toBe(0);
  });

  test("flags win over the environment, the environment over the file, the file over the default", () => {
    const toml = 'cluster-name = "file"\nbase-dir = "file"\nkey-file = "file"';
    const environment = { PERDURE_BASE_DIR: "environment", PERDURE_KEY_FILE: "environment" };
    const { values, origins } = load({ toml, environment, flags: ["--key-file", "flag"] });
    expect([values.clusterName, values.baseDir, values.keyFile]).toEqual(["file", "environment", "flag"]);
    expect(origins.get("base-dir")).toBe("PERDURE_BASE_DIR");
    expect(origins.get("key-file")).toBe("--key-file");
    expect(origins.get("cluster-name")).toMatch(/perdure\.toml: cluster-name$/);
  });

  test("dashes, underscores and case are one in files, variables and flags", () => {
    const toml = '[worker.storage_rocksdb]\npath = "a"\n[worker.invoker]\ninactivity_timeout = "5s"\nMessage-Size_Limit = "1KiB"';
    const environment = { PERDURE_WORKER__CLEANUP_INTERVAL: "1s", perdure_ingress__bind_port: "81" };
    const { values } = load({ toml, environment, flags: ["--worker.invoker.default_retry_policy.max_attempts=3"] });
    expect(values.worker).toEqual({
      cleanupInterval: 1000,
      storageRocksdb: { path: "a" },
      invoker: {
        inactivityTimeout: 5000,
        messageSizeLimit: 1024,
        defaultRetryPolicy: { exponentiationFactor: 2, maxAttempts: 3 },
      },
    });
    expect(values.ingress.bindPort).toBe(81);
  });

  test("an alias reaches the setting it stands for, alone and as a table", () => {
    const aliases = [{ alias: "default-retry-policy", name: "worker.invoker.defaultRetryPolicy" }];
    expect(
      load({ aliases, toml: "[default-retry-policy]\nmax-attempts = 5" }).values.worker.invoker.defaultRetryPolicy.maxAttempts,
    ).toBe(5);
    const environment = { PERDURE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "6" };
    expect(load({ aliases, environment }).values.worker.invoker.defaultRetryPolicy.maxAttempts).toBe(6);
  });

  test("structures are read from TOML and from JSON in a variable", () => {
    const kafka = [{ name: "k", brokers: ["a:1", "b:2"] }];
    expect(load({ environment: { PERDURE_INGRESS__CLUSTERS: JSON.stringify(kafka) } }).values.ingress.clusters).toEqual(kafka);
    const toml = '[{ name = "k", brokers = ["a:1", "b:2"] }]';
    expect(load({ environment: { PERDURE_INGRESS__CLUSTERS: toml } }).values.ingress.clusters).toEqual(kafka);
    expect(load({ toml: '[extra-headers]\nX-One = "1"' }).values.extraHeaders).toEqual({ "X-One": "1" });
  });

  test("a boolean flag needs no value and takes one", () => {
    expect(load({ flags: ["--quiet"] }).values.quiet).toBe(true);
    expect(load({ flags: ["--quiet", "false"] }).values.quiet).toBe(false);
    expect(load({ flags: ["--quiet", "--base-dir", "x"] }).values).toMatchObject({ quiet: true, baseDir: "x" });
  });

  test("variables of the launcher, of other programs and of Kubernetes services are left alone", () => {
    const environment = {
      PERDURE_NODE: "/bin/node",
      PERDURE_SERVICE_HOST: "10.0.0.1",
      PERDURE_SERVICE_PORT_HTTP: "1",
      PERDURE_PORT_8080_TCP_ADDR: "10.0.0.1",
      PERDURE_INGRESS_PORT: "tcp://10.0.0.1:80",
      PERDURE_DNS_PORT_53_UDP: "udp://10.0.0.1:53",
      PERDUREX: "x",
      PATH: "/bin",
    };
    expect(load({ environment, reservedVariables: new Set(["NODE"]) }).origins.size).toBe(0);
  });
});

describe("variables of the reference server", () => {
  const readsRestateVariables = true;

  test("RESTATE_ variables set what PERDURE_ variables and flags do not", () => {
    const environment = {
      RESTATE_INGRESS__BIND_PORT: "81",
      RESTATE_BASE_DIR: "restate",
      PERDURE_BASE_DIR: "perdure",
      RESTATE_CLUSTER_NAME: "restate",
    };
    const toml = 'cluster-name = "file"\n[ingress]\nbind-port = 80';
    const { values, origins } = load({ readsRestateVariables, toml, environment, flags: ["--ingress.bind-port=82"] });
    expect([values.ingress.bindPort, values.baseDir, values.clusterName]).toEqual([82, "perdure", "restate"]);
    expect(origins.get("cluster-name")).toBe("RESTATE_CLUSTER_NAME");
    expect(load({ readsRestateVariables, environment }).values.ingress.bindPort).toBe(81);
    expect(load({ environment }).origins.has("ingress.bind-port")).toBe(false);
  });

  test("aliases hold, and a wrong value is refused by the variable's name", () => {
    const aliases = [{ alias: "default-retry-policy", name: "worker.invoker.defaultRetryPolicy" }];
    const environment = { RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "0" };
    expect(refusal({ readsRestateVariables, aliases, environment }).detail).toMatch(
      /^RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: /,
    );
  });

  test("settings that only the reference has are listed, variables of its clients and of Kubernetes are not", () => {
    const environment = {
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "1GiB",
      RESTATE_BIFROST__DEFAULT_PROVIDER: "replicated",
      RESTATE_WORKER: "1",
      RESTATE_ADMIN_URL: "http://localhost:9070",
      RESTATE_SERVICE_HOST: "10.0.0.1",
      RESTATE_PORT: "tcp://10.0.0.1:80",
    };
    const loaded = load({ readsRestateVariables, environment });
    const ignored = ["RESTATE_BIFROST__DEFAULT_PROVIDER", "RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "RESTATE_WORKER"];
    expect(loaded.ignoredVariables).toEqual(ignored);
    expect(printConfig(schema, loaded)).toContain("# RESTATE_WORKER has no setting here and is ignored\n");
  });
});

describe("refusals", () => {
  let file: string;
  beforeAll(() => {
    file = join(folder, "perdure.toml");
  });

  test("an unknown key of the file is named together with the nearest existing one", () => {
    const error = refusal({ toml: '[worker.invoker]\ninactivty-timeout = "1m"' });
    expect(error.code).toBe("RT0002");
    expect(error.detail).toBe(
      `${file}: there is no setting 'worker.invoker.inactivty-timeout'; did you mean 'worker.invoker.inactivity-timeout'?`,
    );
  });

  test("an existing key in the wrong table leads to the right one", () => {
    const error = refusal({ toml: 'cleanup-interval = "1m"' });
    expect(error.detail).toContain("did you mean 'worker.cleanup-interval'?");
  });

  test("nothing alike, nothing suggested", () => {
    expect(refusal({ toml: "frobnicate = 1" }).detail).toBe(`${file}: there is no setting 'frobnicate'`);
  });

  test("an unknown variable is answered with the variable that exists", () => {
    const error = refusal({ environment: { PERDURE_WORKER__INVOKER__INACTIVITY_TIMEOT: "1m" } });
    expect(error.detail).toContain(
      "PERDURE_WORKER__INVOKER__INACTIVITY_TIMEOT; did you mean 'PERDURE_WORKER__INVOKER__INACTIVITY_TIMEOUT'?",
    );
  });

  test("a variable that ends in _PORT is a setting's misspelling unless its value is a service link's", () => {
    expect(refusal({ environment: { PERDURE_INGRESS_BIND_PORT: "3" } }).detail).toBe(
      "there is no setting for the environment variable PERDURE_INGRESS_BIND_PORT; did you mean 'PERDURE_INGRESS__BIND_PORT'?",
    );
  });

  test("an unknown flag is answered with the flag that exists, and its value is not reported as another mistake", () => {
    expect(refusal({ flags: ["--bas-dir", "x"] }).detail).toBe("there is no flag --bas-dir; did you mean '--base-dir'?");
    expect(refusal({ flags: ["base-dir"] }).detail).toContain("flags begin with two dashes");
    expect(refusal({ flags: ["--base-dir"] }).detail).toBe("--base-dir needs a value");
  });

  test.each<[string, string, string]>([
    ["[worker.invoker]\ninactivity-timeout = 60", "60", "must be a duration such as '1m' or '1h 30m', with a unit"],
    ['[worker.invoker]\ninactivity-timeout = "5 parsecs"', "'5 parsecs'", "'parsecs' is not a unit of time"],
    ['[worker]\ncleanup-interval = "0s"', "'0s'", "must be at least 1ms"],
    ['[ingress]\nrequest-size-limit = "big"', "'big'", "not a size such as 32MiB, 10 MB or 1024"],
    ["[ingress]\nrequest-size-limit = 0", "0", "must be more than zero"],
    ["[ingress]\nbind-port = 70000", "70000", "must be a whole number from 0 to 65535"],
    ["[ingress]\nbind-port = 80.5", "80.5", "must be a whole number from 0 to 65535"],
    ['log-format = "xml"', "'xml'", "must be one of pretty, json"],
    ['quiet = "yes"', "'yes'", "must be true or false"],
    ["quiet = 1", "1", "must be true or false"],
    ['base-dir = ""', "''", "must not be empty"],
  ])("%j is refused with a reason", (toml, value, reason) => {
    const error = refusal({ toml });
    expect(error.code).toBe("RT0002");
    expect(error.detail).toMatch(new RegExp(`cannot be ${value.replace(/[.]/g, "\\.")}: `));
    expect(error.detail).toContain(reason);
    expect(error.detail).toContain(`${file}: `);
  });

  test("a wrong place inside a structure is pointed at, and its texts stay hidden when they may be secret", () => {
    expect(refusal({ toml: '[[ingress.clusters]]\nname = "k"' }).detail).toContain("'ingress.clusters' (at 0.brokers)");
    const error = refusal({ toml: '[extra-headers]\nauthorization = ["hunter2"]' });
    expect(error.detail).toContain("(at authorization) cannot be ***");
    expect(error.message).not.toContain("hunter2");
  });

  test("all mistakes are listed at once", () => {
    const error = refusal({ toml: "frobnicate = 1", environment: { PERDURE_INGRESS__BIND_PORT: "x" }, flags: ["--quite"] });
    expect(error.detail.split("\n")).toEqual([
      "3 settings are wrong:",
      `  - ${file}: there is no setting 'frobnicate'`,
      "  - there is no flag --quite; did you mean '--quiet'?",
      "  - PERDURE_INGRESS__BIND_PORT: 'ingress.bind-port' cannot be 'x': must be a whole number from 0 to 65535",
    ]);
  });

  test("two spellings that disagree are refused with a code of their own; two that agree are not", () => {
    const error = refusal({ toml: 'base-dir = "a"\nbase_dir = "b"' });
    expect(error.code).toBe("OPS0002");
    expect(error.detail).toBe(`${file}: base-dir and ${file}: base_dir both set 'base-dir', to different values`);
    expect(load({ toml: 'base-dir = "a"\nbase_dir = "a"' }).values.baseDir).toBe("a");
  });

  test("a table given as a value, and a file that is not TOML or is not there", () => {
    expect(refusal({ toml: "worker = 1" }).detail).toContain("worker is a table of settings, not a value");
    expect(refusal({ environment: { PERDURE_WORKER: "1" } }).detail).toContain("PERDURE_WORKER names a table of settings");
    const syntax = refusal({ toml: "base-dir = \n" });
    expect(syntax.code).toBe("RT0002");
    expect(syntax.detail).toContain("is not TOML, line 1");
    const missing = {
      file: join(folder, "missing.toml"),
      environment: {},
      flags: [],
      reservedVariables: new Set<string>(),
      aliases: [],
    };
    expect(() => loadConfig(schema, missing)).toThrow(/missing\.toml cannot be read: there is no such file/);
  });
});

describe("print", () => {
  test("what is printed is TOML that loads to the same values, with secrets masked", () => {
    const toml = [
      'cluster-name = "a \\"quoted\\" name"',
      'access-token = "hunter2"',
      "[ingress]",
      "request-size-limit = 1025",
      'clusters = [{ name = "k", brokers = ["a:1"] }]',
      "[worker.invoker]",
      'inactivity-timeout = "90s"',
    ].join("\n");
    const first = load({ toml });
    const printed = printConfig(schema, first);
    expect(printed).not.toContain("hunter2");
    expect(printed).not.toContain('"b"'); // A header of `extra-headers`, whose texts are secret.
    const second = load({ toml: printed });
    const values = { ...first.values, extraHeaders: { a: "***" } };
    expect(JSON.stringify(second.values)).toBe(JSON.stringify(values));
    expect(second.values.accessToken?.reveal()).toBe("***");
    expect(second.values.worker.invoker.inactivityTimeout).toBe(90_000);
  });

  test("each setting comes with its sentence, and with the origin of its value or the default", () => {
    const printed = printConfig(schema, load({ environment: { PERDURE_INGRESS__BIND_PORT: "81" } }));
    expect(printed).toContain("# Port.\nbind-port = 81 # set by PERDURE_INGRESS__BIND_PORT\n");
    expect(printed).toContain('# Largest body.\nrequest-size-limit = "32 MiB" # default\n');
    expect(printed).toContain("# A key.\n# key-file is not set\n");
    expect(printed).toContain("# Growth.\nexponentiation-factor = 2.0 # default\n");
    expect(Object.keys(parseToml(printed))).toEqual([
      "cluster-name",
      "base-dir",
      "quiet",
      "extra-headers",
      "log-format",
      "ingress",
      "worker",
    ]);
  });

  test("two settings of one form have a sentence each", () => {
    const range = z.string().prefault("any");
    const twice = group("Two ranges.", {
      callers: custom(range, { sentence: "Ranges of callers." }),
      databases: custom(range, { sentence: "Ranges of databases." }),
    });
    const inputs = { environment: {}, flags: [], reservedVariables: new Set<string>(), aliases: [], file: undefined };
    const printed = printConfig(twice, loadConfig(twice, inputs));
    expect(printed).toContain('# Ranges of callers.\ncallers = "any"');
    expect(printed).toContain('# Ranges of databases.\ndatabases = "any"');
  });
});
