import { expect, test } from "@jest/globals";
import { observed } from "@perdure/custom-resources";
import { withDeadline, workersOutcome } from "../src/environment/observe.js";
import { versionEdge } from "../src/environment/version-edge.js";

const aSet = (asked: number, replicas: number, readyReplicas: number, updatedReplicas = asked, generation = 1) => ({
  metadata: { generation },
  spec: { replicas: asked },
  status: { observedGeneration: 1, replicas, readyReplicas, updatedReplicas },
});

test("workers are ready when as many as wanted are there, ready, and of the wanted kind", () => {
  const reasonOf = (set: Parameters<typeof workersOutcome>[0], wanted: number | undefined, isCurrent = true): string =>
    workersOutcome(set, { wanted, isCurrent }).observation.reason;
  expect(reasonOf(undefined, 1)).toBe("RollingOut");
  expect(reasonOf(aSet(2, 2, 2), 2)).toBe("Ready");
  expect(reasonOf(aSet(2, 2, 1), 2)).toBe("RollingOut");
  expect(reasonOf(aSet(2, 2, 2, 1), 2)).toBe("RollingOut");
  expect(reasonOf(aSet(2, 2, 2, 2, 2), 2)).toBe("RollingOut");
  expect(reasonOf(aSet(2, 3, 3), 1)).toBe("Draining");
  expect(reasonOf(aSet(2, 2, 2), 1)).toBe("Draining");
  expect(reasonOf(aSet(4, 4, 4), undefined)).toBe("Ready");
  // All is well, with workers of the kind before.
  expect(reasonOf(aSet(2, 2, 2), 2, false)).toBe("RollingOut");
});

test.each([
  [undefined, "3.2.1", false, "allowed"],
  ["1.4.0", "1.4.9", false, "allowed"],
  ["1.4.0", "1.5.0", false, "allowed"],
  ["1.4.0", "1.6.0", false, "VersionSkip"],
  ["1.4.0", "2.0.0", false, "allowed"],
  ["1.4.0", "2.1.0", false, "VersionSkip"],
  ["1.4.0", "3.0.0", false, "VersionSkip"],
  ["1.4.0", "1.3.0", false, "allowed"],
  ["1.4.0", "1.3.0", true, "Downgrade"],
  ["1.4.0", "1.2.0", false, "Downgrade"],
  ["2.0.0", "1.9.0", false, "Downgrade"],
])("from %s to %s (newer things used: %s): %s", (current, target, usesNewer, expected) => {
  const edge = versionEdge(current, target, usesNewer);
  expect(edge.kind === "allowed" ? "allowed" : edge.reason).toBe(expected);
});

test("a condition's time moves with its status and with nothing else", () => {
  const first = observed(undefined, [{ type: "Ready", status: "False", reason: "A", message: "a" }], {
    generation: 1,
    time: "t1",
  });
  const same = observed(first, [{ type: "Ready", status: "False", reason: "B", message: "b" }], { generation: 2, time: "t2" });
  expect(same).toEqual([expect.objectContaining({ reason: "B", lastTransitionTime: "t1", observedGeneration: 2 })]);
  const other = observed(same, [{ type: "Ready", status: "True", reason: "C", message: "" }], { generation: 2, time: "t3" });
  expect(other[0]?.lastTransitionTime).toBe("t3");
  expect(observed(other, [], { generation: 3, time: "t4" })).toEqual([]);
});

test("a change that takes longer than a quarter of an hour is said to be stuck, until it is done or something else is wanted", () => {
  const since = Date.parse("2026-01-01T00:00:00Z");
  const underWay = { type: "Progressing", status: "True", reason: "RollingOut", message: "0 of 1" } as const;
  const before = observed(undefined, [underWay], { generation: 1, time: "2026-01-01T00:00:00Z" });
  const at = (minutes: number, conditions = before, generation = 1) =>
    withDeadline([underWay], conditions, generation, since + minutes * 60_000)[0];
  expect(at(15)).toEqual(underWay);
  const late = at(16);
  expect(late).toMatchObject({ status: "False", reason: "DeadlineExceeded", message: expect.stringContaining("0 of 1") });
  const told = observed(before, late === undefined ? [] : [late], { generation: 1, time: "2026-01-01T00:16:00Z" });
  expect(at(17, told)).toEqual(late);
  expect(at(17, told, 2)).toEqual(underWay);
});
