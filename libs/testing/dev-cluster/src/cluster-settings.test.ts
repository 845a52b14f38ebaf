import { expect, test } from "@jest/globals";
import {
  adminSettings,
  environmentOf,
  gatewaySettings,
  type LocalCluster,
  registrySettings,
  workerSettings,
} from "./cluster-settings.js";
import { readyFactsOf } from "./service-program.js";

const cluster: LocalCluster = {
  postgresUrl: "postgres://perdure@127.0.0.1:5432/postgres",
  redisUrl: "redis://127.0.0.1:6379",
  registryPort: 1,
  workerPorts: [2, 3],
};

test("settings become the variables that a role reads", () => {
  expect(environmentOf({ "ingress.bind-port": 8080, "worker.cleanup-interval": "1s" })).toEqual({
    PERDURE_INGRESS__BIND_PORT: "8080",
    PERDURE_WORKER__CLEANUP_INTERVAL: "1s",
  });
});

test("all roles of a cluster agree on the addresses of the registry and of the workers", () => {
  const roles = [
    registrySettings(cluster, { probes: 0 }),
    adminSettings(cluster, { admin: 4, ingress: 5 }),
    workerSettings(cluster, "worker1", { grpc: 2, probes: 0 }),
    gatewaySettings(cluster, { ingress: 5, probes: 0 }),
  ];
  expect(new Set(roles.flatMap((role) => role["worker.addresses"] ?? []))).toEqual(new Set(["127.0.0.1:2,127.0.0.1:3"]));
  expect(new Set(roles.flatMap((role) => role["registry.addresses"] ?? []))).toEqual(new Set(["127.0.0.1:1"]));
});

test("a worker on any free port has no address that was chosen for it", () => {
  expect(workerSettings(cluster, "worker3", { grpc: 0, probes: 0 })["advertised-address"]).toBeUndefined();
  expect(workerSettings(cluster, "worker2", { grpc: 3, probes: 0 })["advertised-address"]).toBe("127.0.0.1:3");
});

test("the facts of a program are in its line `ready`, and nowhere else", () => {
  expect(readyFactsOf(["starting", '{"msg":"listening","grpc":":1"}'])).toBeUndefined();
  expect(readyFactsOf(["starting", '{"msg":"ready","grpc":":1"}'])).toMatchObject({ grpc: ":1" });
});
