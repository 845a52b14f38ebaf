/** A gateway of a cluster answers callers like a single process. */
import { useClusters } from "./use-clusters.js";

useClusters();
await import("../ingress.server.test.js");
