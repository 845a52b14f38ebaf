/** The leader among the registries publishes events about the environment in a cluster of processes. */
import "./worlds-are-clusters.js";
import "../environment-events.server.test.js";
