/** Set-up of `make conformance CLUSTER=1`: the worlds of all suites are clusters of processes. */
import { ClusterServer } from "../../src/cluster-server.js";
import { useServers } from "../../src/index.js";

useServers((options) => ClusterServer.start(options));
