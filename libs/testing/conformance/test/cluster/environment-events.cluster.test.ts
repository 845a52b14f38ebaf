/** The leader among the registries publishes events about the environment in a cluster of processes. */
import { useClusters } from "./use-clusters.js";

useClusters();
await import("../environment-events.server.test.js");
