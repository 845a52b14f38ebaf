import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { clusterPortsOf, settingsFrom } from "../src/settings.js";

const workersWith = (environment: Record<string, string>) =>
  clusterPortsOf(settingsFrom({ PERDURE_CLUSTER_PORTS: "20000", ...environment }), { withKafka: true }).workers;

test("two workers are started, or as many as the variable says, and their ports follow on the others", () => {
  expect(workersWith({})).toHaveLength(2);
  expect(workersWith({ PERDURE_CLUSTER_WORKERS: "" })).toHaveLength(2);
  const four = workersWith({ PERDURE_CLUSTER_WORKERS: "4" });
  expect(four?.slice(2)).toEqual([
    { grpc: 20_011, probes: 20_012 },
    { grpc: 20_013, probes: 20_014 },
  ]);
});

test.each(["1", "9", "2.5", "two"])("%s workers are refused with the name of the variable", (count) => {
  expect(() => settingsFrom({ PERDURE_CLUSTER_WORKERS: count })).toThrow(
    `PERDURE_CLUSTER_WORKERS must be a number from 2 to 8, not '${count}'`,
  );
});

test("the example of the usage is a setting of a role that exists", () => {
  const usage = readFileSync(new URL("../src/main.ts", import.meta.url), "utf8");
  const [, example = ""] = /another setting of a role: --set (\S+)/.exec(usage) ?? [];
  expect(settingsFrom({}, [example]).roles).toEqual({ "invoker-worker": { "worker.cleanup-interval": "10s" } });
});
