import { describe, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { Metrics } from "@perdure/telemetry";
import { ACTION_REASONS } from "./environment/action-reasons.js";
import { operatorMetrics } from "./metrics.js";

const NOW_MS = Date.parse("2026-01-01T00:10:00Z");

function anEnvironment(name: string, status: Record<string, unknown> | undefined, metadata = {}): EnvironmentResource {
  const spec = { version: "1.1.0" };
  return { metadata: { name, generation: 1, ...metadata }, spec, status } as unknown as EnvironmentResource;
}

const withReason = (phase: string, reason: string, type = "Ready") => ({
  phase,
  conditions: [{ type, status: "False", reason }],
});

const linesOf = (metrics: Metrics, name: string): readonly string[] =>
  metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith(name))
    .toSorted();

function anEnvironmentOfId(id: string, status: Record<string, unknown> | undefined, metadata = {}): EnvironmentResource {
  const environment = anEnvironment(id, status, metadata);
  return { ...environment, spec: { ...environment.spec, environmentId: `env_${id}` } } as EnvironmentResource;
}

describe("gauges of the operator", () => {
  test("count environments by phase and reason, reported by the leader only", () => {
    const metrics = new Metrics();
    const { observed } = operatorMetrics(metrics, () => NOW_MS);
    const all = [
      anEnvironment("a", withReason("Running", "Ready")),
      anEnvironment("b", withReason("Running", "Ready")),
      anEnvironment("c", withReason("Degraded", "SomethingThatNobodyKnows")),
      anEnvironment("d", undefined),
      anEnvironment("e", withReason("Deleting", "DeletionBlocked", "Deleting"), { deletionTimestamp: "2026-01-01T00:05:00Z" }),
    ];
    observed.environments = { values: () => all };
    expect(linesOf(metrics, "perdure_operator_environments{")).toEqual([]);
    expect(linesOf(metrics, "perdure_operator_oldest_deletion_seconds")).toEqual(["perdure_operator_oldest_deletion_seconds 0"]);
    observed.isLeading = () => true;
    expect(linesOf(metrics, "perdure_operator_environments{")).toEqual([
      'perdure_operator_environments{phase="Degraded",reason="other"} 1',
      'perdure_operator_environments{phase="Deleting",reason="DeletionBlocked"} 1',
      'perdure_operator_environments{phase="Pending",reason="Pending"} 1',
      'perdure_operator_environments{phase="Running",reason="Ready"} 2',
    ]);
    expect(linesOf(metrics, "perdure_operator_oldest_deletion_seconds")).toEqual([
      "perdure_operator_oldest_deletion_seconds 300",
    ]);
  });

  test("count environments by each reason that requires an action", () => {
    const metrics = new Metrics();
    const { observed } = operatorMetrics(metrics, () => NOW_MS);
    const reasons = [...ACTION_REASONS].toSorted();
    expect(reasons).toEqual(expect.arrayContaining(["CrashLoop", "ImagePull", "NodeLost", "Unschedulable"]));
    observed.environments = { values: () => reasons.map((reason) => anEnvironment(reason, withReason("Degraded", reason))) };
    observed.isLeading = () => true;
    expect(linesOf(metrics, "perdure_operator_environments{")).toEqual(
      reasons.map((reason) => `perdure_operator_environments{phase="Degraded",reason="${reason}"} 1`),
    );
  });

  test("names each environment that must run and whether it is ready; those at rest and those that are being deleted are not named", () => {
    const metrics = new Metrics();
    const { observed } = operatorMetrics(metrics, () => NOW_MS);
    const ready = (status: string) => [{ type: "Ready", status, reason: "Any" }];
    const all = [
      anEnvironmentOfId("up", { phase: "Running", conditions: ready("True") }),
      anEnvironmentOfId("down", { phase: "Degraded", conditions: ready("False") }),
      anEnvironmentOfId("new", undefined),
      anEnvironmentOfId("asleep", { phase: "Hibernated", conditions: ready("False") }),
      anEnvironmentOfId("suspended", { phase: "Suspended", conditions: ready("False") }),
      anEnvironmentOfId("going", { phase: "Running", conditions: ready("True") }, { deletionTimestamp: "2026-01-01T00:05:00Z" }),
    ];
    observed.environments = { values: () => all };
    expect(linesOf(metrics, "perdure_operator_environment_ready{")).toEqual([]);
    observed.isLeading = () => true;
    expect(linesOf(metrics, "perdure_operator_environment_ready{")).toEqual([
      'perdure_operator_environment_ready{env="env_down"} 0',
      'perdure_operator_environment_ready{env="env_new"} 0',
      'perdure_operator_environment_ready{env="env_up"} 1',
    ]);
  });

  test("name each environment whose lost primary of Redis has no replica that may be promoted, with the reason, while that lasts", () => {
    const metrics = new Metrics();
    const { observed } = operatorMetrics(metrics, () => NOW_MS);
    const refused = (reason: string, status = "True") => ({
      phase: "Degraded",
      conditions: [
        { type: "Ready", status: "False", reason: "RedisUnreachable" },
        { type: "RedisPromotionRefused", status, reason },
      ],
    });
    const all = [
      anEnvironmentOfId("fine", withReason("Running", "Ready")),
      anEnvironmentOfId("alone", refused("ReplicaUnreachable")),
      anEnvironmentOfId("other", refused("HistoriesDiffer")),
      anEnvironmentOfId("before", refused("ReplicaUnreachable", "False")),
      anEnvironmentOfId("going", refused("ReplicaUnreachable"), { deletionTimestamp: "2026-01-01T00:05:00Z" }),
    ];
    observed.environments = { values: () => all };
    expect(linesOf(metrics, "perdure_operator_redis_promotion_refused{")).toEqual([]);
    observed.isLeading = () => true;
    expect(linesOf(metrics, "perdure_operator_redis_promotion_refused{")).toEqual([
      'perdure_operator_redis_promotion_refused{env="env_alone",reason="ReplicaUnreachable"} 1',
      'perdure_operator_redis_promotion_refused{env="env_other",reason="HistoriesDiffer"} 1',
    ]);
  });

  test("report the queues and caches of controllers", () => {
    const metrics = new Metrics();
    operatorMetrics(metrics, () => NOW_MS).observed.controllers.push({ kind: "Environment", depth: 3, longestRunningMs: 2_500 });
    expect(linesOf(metrics, "perdure_operator_queue_depth")).toEqual(['perdure_operator_queue_depth{kind="Environment"} 3']);
    expect(linesOf(metrics, "perdure_operator_longest_running")).toEqual([
      'perdure_operator_longest_running_seconds{kind="Environment"} 2.5',
    ]);
  });
});

describe("time to readiness", () => {
  const begun = (status: Record<string, unknown> | undefined, metadata = {}) => {
    const metrics = new Metrics();
    const { readiness } = operatorMetrics(metrics, () => NOW_MS);
    const environment = anEnvironment("a", status, metadata);
    return {
      record: (phase: "Provisioning" | "Updating" | "Degraded" | "Running" | "Suspended", atMs: number) =>
        readiness.record(environment, phase, phase === "Running", atMs),
      sums: () => linesOf(metrics, "perdure_operator_time_to_ready_seconds_sum"),
    };
  };

  test("is counted from an environment's creation, also by an operator that has just begun", () => {
    const { record, sums } = begun(undefined, { creationTimestamp: "2026-01-01T00:09:00Z" });
    record("Provisioning", NOW_MS);
    record("Running", NOW_MS + 5_000);
    record("Running", NOW_MS + 9_000);
    expect(sums()).toEqual(['perdure_operator_time_to_ready_seconds_sum{operation="create"} 65']);
  });

  test("is counted from a new version, and from when a resting environment is resumed", () => {
    const update = begun({ phase: "Running", version: { current: "1.0.0" }, observedGeneration: 1 });
    update.record("Updating", NOW_MS);
    update.record("Updating", NOW_MS + 1_000);
    update.record("Running", NOW_MS + 4_000);
    expect(update.sums()).toEqual(['perdure_operator_time_to_ready_seconds_sum{operation="update"} 4']);
    const resume = begun({ phase: "Suspended", version: { current: "1.1.0" }, observedGeneration: 1 });
    resume.record("Degraded", NOW_MS);
    resume.record("Running", NOW_MS + 3_000);
    expect(resume.sums()).toEqual(['perdure_operator_time_to_ready_seconds_sum{operation="resume"} 3']);
  });

  test("is not counted for what broke by itself, nor for what is put to rest on its way", () => {
    const broken = begun({ phase: "Running", version: { current: "1.1.0" }, observedGeneration: 1 });
    broken.record("Degraded", NOW_MS);
    broken.record("Running", NOW_MS + 3_000);
    expect(broken.sums()).toEqual([]);
    const stopped = begun({ phase: "Running", version: { current: "1.0.0" }, observedGeneration: 1 });
    stopped.record("Updating", NOW_MS);
    stopped.record("Suspended", NOW_MS + 1_000);
    stopped.record("Running", NOW_MS + 3_000);
    expect(stopped.sums()).toEqual([]);
  });
});
