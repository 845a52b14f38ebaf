import { expect, test } from "@jest/globals";
import { priorityAtStart, Urgency } from "./urgency.js";

interface Facts {
  readonly generation?: number;
  readonly observed?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}

const anObject = ({ observed, ...metadata }: Facts = {}) => ({
  metadata: { name: "env-a", generation: 1, ...metadata },
  ...(observed === undefined ? {} : { status: { observedGeneration: observed } }),
});

test("an object that was never reconciled is a creation, however often its own finalizer and status come by", () => {
  const urgency = new Urgency();
  expect(urgency.of(anObject(), "added")).toBe("creation");
  expect(urgency.of(anObject(), "changed")).toBe("progress");
  expect(urgency.of(anObject({ observed: 1 }), "changed")).toBe("progress");
  expect(urgency.of(anObject({ observed: 1 }), "resync")).toBe("resync");
});

test("users' changes of an existing object are urgent: its spec, an annotation, its deletion", () => {
  const urgency = new Urgency();
  urgency.of(anObject({ observed: 1 }), "added");
  expect(urgency.of(anObject({ observed: 1, generation: 2 }), "changed")).toBe("urgent");
  expect(urgency.of(anObject({ observed: 2, generation: 2 }), "changed")).toBe("progress");
  expect(urgency.of(anObject({ observed: 2, generation: 2, annotations: { "perdure.dev/wake": "1" } }), "changed")).toBe(
    "urgent",
  );
  const going = anObject({ observed: 2, generation: 2, deletionTimestamp: "2026-01-01T00:00:00Z" });
  expect(urgency.of(going, "changed")).toBe("urgent");
  expect(urgency.of(going, "deleted")).toBe("urgent");
  expect(urgency.of(anObject(), "added")).toBe("creation");
});

test("a new leader first reconciles what changed meanwhile, and last what did not", () => {
  expect(priorityAtStart(anObject())).toBe("creation");
  expect(priorityAtStart(anObject({ observed: 1 }))).toBe("resync");
  expect(priorityAtStart(anObject({ observed: 1, generation: 2 }))).toBe("urgent");
  expect(priorityAtStart(anObject({ deletionTimestamp: "2026-01-01T00:00:00Z" }))).toBe("urgent");
});
