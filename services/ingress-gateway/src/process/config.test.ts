import { describe, expect, test } from "@jest/globals";
import { printConfig } from "@perdure/process-kit";
import { loadSettings, settings } from "./config.js";

describe("settings of perdure-gateway", () => {
  test("variables of the reference server work, and --print-config lists those of other roles as ignored", () => {
    const loaded = loadSettings({
      file: undefined,
      environment: {
        RESTATE_INGRESS__BIND_ADDRESS: "127.0.0.1:8181",
        PERDURE_INGRESS__BIND_PORT: "8282",
        RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "3",
      },
      flags: [],
    });
    expect(loaded.values.ingress).toMatchObject({ bindAddress: "127.0.0.1", bindPort: 8282 });
    const printed = printConfig(settings, loaded);
    expect(printed).toContain('bind-address = "127.0.0.1" # set by RESTATE_INGRESS__BIND_ADDRESS');
    expect(printed).toContain("# RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS has no setting here and is ignored\n");
  });
});
