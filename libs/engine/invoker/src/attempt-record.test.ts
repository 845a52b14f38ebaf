/** Each attempt that began is counted as ended once, whatever ends it first. */
import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { AttemptRecord } from "./attempt-record.js";
import { noMetrics } from "./metrics.js";

function aRecord() {
  const counted: string[] = [];
  const record = new AttemptRecord(new VirtualClock(), {
    ...noMetrics,
    attemptStarted: (waitedMs) => counted.push(`started after ${waitedMs}`),
    attemptEnded: (how, errorCode, _durationMs, transport) => counted.push(`${how} ${errorCode ?? "-"} ${transport}`),
    attemptBrokenOff: () => counted.push("broken off"),
  });
  return { record, counted };
}

test("an attempt that ended is not broken off afterwards, and one that was broken off does not end", () => {
  const { record, counted } = aRecord();
  const dueAtMs = new VirtualClock().nowMs();
  record.begin(dueAtMs);
  record.ended("failed", "RT0010");
  record.brokenOff();
  record.begin(dueAtMs);
  record.brokenOff();
  record.ended("ended", undefined);
  expect(counted).toEqual(["started after 0", "failed RT0010 none", "started after 0", "broken off"]);
  expect(record.count).toBe(2);
});

test("an attempt that the endpoint did not process is broken off, and the next one has its number", () => {
  const { record, counted } = aRecord();
  record.begin(0);
  record.unprocessed();
  record.begin(0);
  expect(record.count).toBe(1);
  expect(counted.filter((each) => each === "broken off")).toHaveLength(1);
});
