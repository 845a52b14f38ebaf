/** Hostile connections to every listener of every program harm no other client; `make fuzz` sends many more. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import { FuzzPlatform } from "./fuzzer/platform.js";
import { fuzzTarget } from "./fuzzer/run.js";

const SEED = Number(process.env["PERDURE_CONFORMANCE_SEED"] ?? 20_261_125);
const CONNECTIONS = 120;
const START_MS = 120_000;
const TEST_MS = 90_000 * TIMEOUT_FACTOR;

const LISTENERS = [
  "ingress-gateway ingress",
  "ingress-gateway probes",
  "admin-api admin",
  "registry grpc",
  "registry probes",
  "invoker-worker grpc",
  "invoker-worker probes",
  "tenancy api",
  "tenancy grpc",
  "tenancy probes",
  "cloud-gateway ingress",
  "cloud-gateway admin",
  "cloud-gateway ingress of an environment",
  "cloud-gateway admin of an environment",
  "cloud-gateway probes",
  "tunnel-relay tunnels",
  "tunnel-relay proxy",
  "tunnel-relay probes",
  "tunnel-client ingress",
  "tunnel-client admin",
  "tunnel-client probes",
  "tunnel-client relays",
  "operator probes",
  "standalone ingress",
  "standalone admin",
  "standalone endpoint",
];

let platform: FuzzPlatform;
beforeAll(async () => {
  platform = await FuzzPlatform.start();
}, START_MS);
afterAll(() => platform[Symbol.asyncDispose]());

test("the platform of the fuzzer has every listener", () => {
  expect(platform.targets.map(({ name }) => name)).toEqual(LISTENERS);
});

// A failure names the seed, the listener and the connection.
test.each(LISTENERS)(
  "T21: %s survives protocol errors and random frames",
  async (name) => {
    const target = platform.targets.find((one) => one.name === name);
    if (target === undefined) throw new Error(`there is no listener ${name}`);
    const { connections } = await fuzzTarget(target, { seed: SEED, connections: CONNECTIONS });
    // A tunnel client dials as often as its pauses allow.
    expect(connections).toBeGreaterThan(name === "tunnel-client relays" ? 0 : CONNECTIONS - 1);
  },
  TEST_MS,
);
