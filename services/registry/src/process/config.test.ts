import { describe, expect, test } from "@jest/globals";
import { printConfig } from "@perdure/process-kit";
import { loadSettings, settings } from "./config.js";

describe("settings of perdure-registry", () => {
  test("variables of the reference server work under its names, Perdure's win, and --print-config lists both", () => {
    const loaded = loadSettings({
      file: undefined,
      environment: {
        RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL: "3s",
        RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "3",
        PERDURE_WORKER__INVOKER__DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "4",
        RESTATE_MAX_JOURNAL_RETENTION: "2h",
      },
      flags: [],
    });
    expect(loaded.values.worker).toMatchObject({
      maxJournalRetention: 7_200_000,
      invoker: { defaultRetryPolicy: { initialInterval: 3_000, maxAttempts: 4 } },
    });
    const printed = printConfig(settings, loaded);
    expect(printed).toContain('initial-interval = "3s" # set by RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL');
    expect(printed).toContain("max-attempts = 4 # set by PERDURE_WORKER__INVOKER__DEFAULT_RETRY_POLICY__MAX_ATTEMPTS");
  });
});
