/** Operations on invocations work through the processes of a cluster. */
import "./worlds-are-clusters.js";
import "../lifecycle.server.test.js";
