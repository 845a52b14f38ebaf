import { describe, expect, test } from "@jest/globals";
import { printConfig } from "@perdure/process-kit";
import { loadSettings, settings } from "./config.js";

function load(environment: Record<string, string>) {
  return loadSettings({ file: undefined, environment, flags: [] });
}

describe("settings of perdure-worker", () => {
  test("variables of the reference server work under its names, and --print-config lists them", () => {
    const loaded = load({
      RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL: "3s",
      RESTATE_DEFAULT_RETRY_POLICY__ON_MAX_ATTEMPTS: "kill",
      RESTATE_DEFAULT_JOURNAL_RETENTION: "2h",
      RESTATE_DEFAULT_NUM_PARTITIONS: "5",
      RESTATE_WORKER__INVOKER__ADDITIONAL_REQUEST_HEADERS: '{"X-A":"1"}',
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "1GB",
    });
    expect(loaded.values.worker).toMatchObject({
      numPartitions: 5,
      defaultJournalRetention: 7_200_000,
      invoker: { defaultRetryPolicy: { initialInterval: 3_000, onMaxAttempts: "kill" } },
    });
    expect(loaded.values.additionalRequestHeaders).toEqual({ "X-A": "1" });
    expect(loaded.ignoredVariables).toEqual(["RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE"]);
    const printed = printConfig(settings, loaded);
    expect(printed).toContain('initial-interval = "3s" # set by RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL');
    expect(printed).toContain("# RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE has no setting here and is ignored\n");
  });

  test("Perdure's variable wins over the reference's, under either name", () => {
    const { values } = load({
      RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "3",
      PERDURE_WORKER__INVOKER__DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "4",
      RESTATE_WORKER__DEFAULT_JOURNAL_RETENTION: "1h",
      PERDURE_DEFAULT_JOURNAL_RETENTION: "2h",
    });
    expect(values.worker.invoker.defaultRetryPolicy.maxAttempts).toBe(4);
    expect(values.worker.defaultJournalRetention).toBe(7_200_000);
  });
});
