import { afterAll, beforeAll, jest } from "@jest/globals";
import { ClusterServer } from "../../src/cluster-server.js";
import { useServers } from "../../src/index.js";

/** A cluster takes longer to start than one process. */
const A_CLUSTER_STARTS_MS = 90_000;

/** Called once by a suite, outside of all tests: the suite's worlds are clusters of processes. */
export function useClusters(): void {
  jest.setTimeout(A_CLUSTER_STARTS_MS);
  beforeAll(() => useServers((options) => ClusterServer.start(options)));
  afterAll(() => useServers(undefined));
}
