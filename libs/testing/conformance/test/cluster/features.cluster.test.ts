/** Every feature of an SDK's context works the same when the server is a cluster of processes. */
import { useClusters } from "./use-clusters.js";

useClusters();
await import("../features.server.test.js");
