/** Every feature of an SDK's context works the same when the server is a cluster of processes. */
import "./worlds-are-clusters.js";
import "../features.server.test.js";
