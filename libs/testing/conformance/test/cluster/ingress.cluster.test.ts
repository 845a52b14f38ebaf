/** A gateway of a cluster answers callers like a single process. */
import "./worlds-are-clusters.js";
import "../ingress.server.test.js";
