/** Why: imported before a suite, this makes the suite's worlds clusters of processes; they take longer to start than one process. */
import { jest } from "@jest/globals";
import { ClusterServer } from "../../src/cluster-server.js";
import { useServers } from "../../src/index.js";

const A_CLUSTER_STARTS_MS = 90_000;

jest.setTimeout(A_CLUSTER_STARTS_MS);
useServers((options) => ClusterServer.start(options));
