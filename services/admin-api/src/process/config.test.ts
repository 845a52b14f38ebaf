import { describe, expect, test } from "@jest/globals";
import { printConfig } from "@perdure/process-kit";
import { loadSettings, settings } from "./config.js";

describe("settings of perdure-admin", () => {
  test("variables of the reference server work under its names, Perdure's win, and --print-config lists them", () => {
    const loaded = loadSettings({
      file: undefined,
      environment: {
        RESTATE_ADMIN__BIND_ADDRESS: "[::1]:9171",
        PERDURE_ADMIN__BIND_PORT: "9272",
        RESTATE_WORKER__INVOKER__ADDITIONAL_REQUEST_HEADERS: '{"X-A":"1"}',
      },
      flags: [],
    });
    expect(loaded.values.admin).toMatchObject({ bindAddress: "::1", bindPort: 9272 });
    expect(loaded.values.additionalRequestHeaders).toEqual({ "X-A": "1" });
    expect(printConfig(settings, loaded)).toContain("# set by RESTATE_WORKER__INVOKER__ADDITIONAL_REQUEST_HEADERS\n");
  });
});
