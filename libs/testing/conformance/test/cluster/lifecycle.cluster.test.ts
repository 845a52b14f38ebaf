/** Operations on invocations work through the processes of a cluster. */
import { useClusters } from "./use-clusters.js";

useClusters();
await import("../lifecycle.server.test.js");
