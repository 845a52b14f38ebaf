import { expect, test } from "@jest/globals";
import { loadConfig } from "../config/load.js";
import { group } from "../config/setting.js";
import { processSettings } from "../settings/process.js";
import { OK, runProcess } from "./run.js";

const schema = group("Settings of a program of tests.", { ...processSettings });

test("a process is not ready between the starts of two of its parts", async () => {
  const reports: string[] = [];
  const code = await runProcess(
    {
      program: "program",
      service: "test",
      schema,
      load: (inputs) => loadConfig(schema, { ...inputs, reservedVariables: new Set(), aliases: [] }),
      start: async (_settings, { lifecycle }) => {
        const record = (): void => void reports.push(`${lifecycle.health.ready} ${lifecycle.health.waitingFor.join()}`);
        await lifecycle.start("first", async () => {
          record();
          return { async [Symbol.asyncDispose]() {} };
        });
        record(); // The next part, which opens the port, has not begun.
        setTimeout(() => {
          record();
          lifecycle.stop("recorded");
        }, 50);
        return {};
      },
    },
    { file: undefined, flags: ["--log-filter=off"], printConfig: false },
    {},
  );
  expect(code).toBe(OK);
  expect(reports).toEqual(["false start-up,first", "false start-up", "true "]);
});
