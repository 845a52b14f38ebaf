/** Callers hear the same from a gateway of a cluster as from the one process. */
import "./worlds-are-clusters.js";
import "../ingress.server.test.js";
