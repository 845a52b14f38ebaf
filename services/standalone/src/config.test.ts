import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { invokerDefaults } from "@perdure/invoker";
import { invokerOptionsOf } from "@perdure/invoker-worker";
import { COMMIT_LOG_DEFAULT } from "@perdure/leveldb";
import { printConfig, recordScopesOf, requestHeadersOf } from "@perdure/process-kit";
import { kafkaClustersOf } from "@perdure/registry";
import { directoriesOf, loadSettings, settings } from "./config.js";

const folder = mkdtempSync(join(tmpdir(), "perdure-settings-"));
afterAll(() => rmSync(folder, { recursive: true }));

function load(toml = "", environment: Record<string, string> = {}, flags: readonly string[] = []) {
  const file = join(folder, "perdure.toml");
  writeFileSync(file, toml);
  return loadSettings({ file, environment, flags });
}

function refusal(toml: string): string {
  try {
    load(toml);
  } catch (cause) {
    if (cause instanceof PerdureError) return cause.detail;
    throw cause;
  }
  throw new Error("the settings were accepted");
}

describe("settings of the server", () => {
  test("without any, the invoker gets the defaults it documents itself", () => {
    const { values } = load();
    const options = invokerOptionsOf(values.worker, requestHeadersOf(values), values.experimentalEnableVqueues);
    expect(options).toEqual({ ...invokerDefaults, concurrentInvocationsMax: expect.any(Number) });
  });

  test("without any, the storage gets the defaults it documents itself", () => {
    const { commitLog, commitLogSegmentSize } = load().values.worker.storageRocksdb;
    expect({ enabled: commitLog, segmentBytesMax: commitLogSegmentSize }).toEqual(COMMIT_LOG_DEFAULT);
  });

  test("attempts at one time follow from the memory of the process, unless a limit is set", () => {
    const attemptsMax = (toml: string) => invokerOptionsOf(load(toml).values.worker, {}, true).concurrentInvocationsMax;
    expect(attemptsMax("")).toBeGreaterThanOrEqual(1_000);
    expect(attemptsMax("")).toBeLessThanOrEqual(8_192);
    expect(attemptsMax("[worker.invoker]\nconcurrent-invocations-limit = 7")).toBe(7);
  });

  test("the names of the interface specification work as they are written there", () => {
    const { values } = load(
      [
        "[worker.invoker]",
        'abort_timeout = "7s"',
        'message_size_limit = "1MiB"',
        "[worker.storage_rocksdb]",
        'path = "partitions-here"',
        "[meta]",
        'storage_path = "/metadata/there"',
      ].join("\n"),
    );
    expect(values.worker.invoker).toMatchObject({ abortTimeout: 7000, messageSizeLimit: 1024 * 1024 });
    expect(directoriesOf(values)).toEqual({
      node: resolve("perdure-data/node1"),
      partitions: resolve("partitions-here"),
      metadata: resolve("/metadata/there"),
    });
  });

  test("directories follow from base directory and node name", () => {
    expect(directoriesOf(load("", {}, ["--base-dir", "/data", "--node-name", "alpha"]).values)).toEqual({
      node: resolve("/data/alpha"),
      partitions: resolve("/data/alpha/db"),
      metadata: resolve("/data/alpha/local-metadata-store"),
    });
  });

  test("names under which the reference keeps a setting elsewhere reach it", () => {
    const toml =
      'default-num-partitions = 4\nmax-retry-policy-max-attempts = 9\n[default-retry-policy]\ninitial-interval = "1s"\non-max-attempts = "kill"';
    const { values } = load(toml, {
      PERDURE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "3",
      PERDURE_WORKER__INVOKER__ADDITIONAL_REQUEST_HEADERS: '{"X-A":"1"}',
    });
    expect(values.worker.numPartitions).toBe(4);
    expect(invokerOptionsOf(values.worker, requestHeadersOf(values), values.experimentalEnableVqueues)).toMatchObject({
      retryPolicyDefault: { initialIntervalMs: 1000, maxAttempts: 3, onMaxAttempts: "kill" },
      attemptsMax: 9,
      additionalRequestHeaders: { "x-restate-cluster-name": "localcluster", "x-a": "1" },
    });
  });

  test("variables of the reference server work: those of its testcontainers library, and addresses with a port", () => {
    const { values, ignoredVariables } = load("", {
      RESTATE_WORKER__INVOKER__INACTIVITY_TIMEOUT: "0s",
      RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "1",
      RESTATE_DEFAULT_RETRY_POLICY__ON_MAX_ATTEMPTS: "kill",
      RESTATE_INGRESS__BIND_ADDRESS: "127.0.0.1:8181",
      RESTATE_ADMIN__BIND_ADDRESS: "[::1]:9171",
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "1GB",
    });
    expect(values.worker.invoker).toMatchObject({
      inactivityTimeout: 0,
      defaultRetryPolicy: { maxAttempts: 1, onMaxAttempts: "kill" },
    });
    expect(values.ingress).toMatchObject({ bindAddress: "127.0.0.1", bindPort: 8181 });
    expect(values.admin).toMatchObject({ bindAddress: "::1", bindPort: 9171 });
    expect(ignoredVariables).toEqual(["RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE"]);
  });

  test("the cluster's name is sent to endpoints, and must be valid in a header", () => {
    expect(requestHeadersOf(load('cluster-name = "eu-1"').values)).toEqual({ "x-restate-cluster-name": "eu-1" });
    expect(refusal('cluster-name = "zwölf"')).toContain("must be visible ASCII without blanks");
  });

  test("the node's name is the name of a folder, and cannot leave the base directory", () => {
    for (const name of ["../other", "a/b", ".", ".hidden", ""])
      expect(refusal(`node-name = ${JSON.stringify(name)}`)).toContain("'node-name'");
  });

  test.each(["0.0.0.0:8080", "localhost:8080", "http://localhost"])(
    "the bind address %s is refused: the port has a setting of its own",
    (address) => {
      expect(refusal(`[ingress]\nbind-address = "${address}"`)).toContain("'ingress.bind-address'");
    },
  );

  test("management listens on this machine alone, and the ingress on every address", () => {
    const { admin, ingress } = load("").values;
    expect([admin.bindAddress, ingress.bindAddress]).toEqual(["127.0.0.1", undefined]);
  });

  test.each(["*", "0.0.0.0", "::", "::1", "fd00::2", "localhost", "ingress.example.org"])(
    "the bind address %s is accepted",
    (address) => {
      expect(load(`[admin]\nbind-address = "${address}"`).values.admin.bindAddress).toBe(address);
    },
  );

  test("Kafka clusters keep every property, and print without their secrets", () => {
    const loaded = load(
      '[[ingress.kafka-clusters]]\nname = "orders"\nbrokers = ["a:9092", "b:9092"]\n"sasl.password" = "hunter2"\n"session.timeout.ms" = 6000',
    );
    expect(kafkaClustersOf(loaded.values.ingress.kafkaClusters)).toEqual(
      new Map([["orders", { "bootstrap.servers": "a:9092,b:9092", "sasl.password": "hunter2", "session.timeout.ms": "6000" }]]),
    );
    const printed = printConfig(settings, loaded);
    expect(printed).not.toContain("hunter2");
    expect(printed).toContain('kafka-clusters = [{ name = "orders", brokers = ["a:9092", "b:9092"], "sasl.password" = "***"');
    expect(
      refusal(
        '[[ingress.kafka-clusters]]\nname = "a"\nbrokers = ["x:1"]\n[[ingress.kafka-clusters]]\nname = "a"\nbrokers = ["y:1"]',
      ),
    ).toContain("has two clusters of one name");
  });

  test("what is printed can be used as the settings file it is", () => {
    const first = load();
    const second = load(printConfig(settings, first));
    expect(second.values).toEqual(first.values);
  });

  test("a typo is answered with the right name, in the file and in the environment", () => {
    expect(refusal("[ingress]\nbindport = 1\n[worker]\ncleanup-intervall = '1s'")).toContain(
      "did you mean 'worker.cleanup-interval'?",
    );
    expect(() => load("", { PERDURE_WORKER__INVOKER__ABORT_TIMOUT: "1s" })).toThrow(
      /did you mean 'PERDURE_WORKER__INVOKER__ABORT_TIMEOUT'/,
    );
  });

  test("variables of the launcher, of the command line client and of tunnels are none of the server's business", () => {
    const environment = {
      PERDURE_CONFIG: "x",
      PERDURE_NODE_OPTIONS: "x",
      PERDURE_AUTH_TOKEN: "x",
      PERDURE_TUNNEL_NAME: "x",
      PERDURE_HOST: "x",
    };
    expect(load("", environment).origins.size).toBe(0);
  });
});

test("records may name scopes only where flow control is on", () => {
  const settings = (on: boolean) => ({ experimentalEnableVqueues: on, experimentalEnableKafkaScope: true });
  expect(recordScopesOf(settings(true))).toBe(true);
  expect(() => recordScopesOf(settings(false))).toThrow("needs 'experimental-enable-vqueues'");
});
