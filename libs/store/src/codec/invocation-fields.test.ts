import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { arbitraryInvocation } from "../testing/index.js";
import { decodeInvocation, encodeInvocation } from "./invocation.js";
import { InvocationFields, type TextField } from "./invocation-fields.js";

test("the fields of a row are those of the invocation it decodes to, whatever was read before", () => {
  const fields = new InvocationFields();
  const text = (field: TextField) => (field.start < 0 ? undefined : fields.text(field));
  const time = (value: number) => (value < 0 ? undefined : value);
  fc.assert(
    fc.property(arbitraryInvocation, (invocation) => {
      const row = encodeInvocation(invocation);
      fields.load(row);
      const { facts, pinned, journal, milestones } = decodeInvocation(row);
      expect({
        status: fields.status,
        id: fields.invocationId,
        scope: text(fields.scope),
        service: text(fields.service),
        key: text(fields.key),
        handler: text(fields.handler),
        serviceType: fields.serviceType,
        source: fields.sourceKind,
        idempotencyKey: text(fields.idempotencyKey),
        limitKey: text(fields.limitKey),
        deployment: text(fields.pinnedDeployment),
        version: time(fields.pinnedVersion),
        createdAtMs: fields.createdAtMs,
        modifiedAtMs: fields.modifiedAtMs,
        executionTimeMs: time(fields.executionTimeMs),
        retention: [fields.completionRetentionMs, fields.journalRetentionMs],
        milestones: [fields.scheduledAtMs, fields.inboxedAtMs, fields.runningAtMs, fields.completedAtMs].map(time),
        journal: [fields.journalLength, fields.journalCommands, fields.hasEvents],
        isFailure: fields.isFailure,
      }).toEqual({
        status: invocation.status,
        id: facts.id,
        scope: facts.target.scope,
        service: facts.target.service,
        key: facts.target.key,
        handler: facts.target.handler,
        serviceType: facts.target.serviceType,
        source: facts.source.kind,
        idempotencyKey: facts.idempotencyKey,
        limitKey: facts.limitKey,
        deployment: pinned?.deploymentId,
        version: pinned?.protocolVersion,
        createdAtMs: facts.createdAtMs,
        modifiedAtMs: invocation.modifiedAtMs,
        executionTimeMs: facts.executionTimeMs,
        retention: [facts.completionRetentionMs, facts.journalRetentionMs],
        milestones: [milestones.scheduledAtMs, milestones.inboxedAtMs, milestones.runningAtMs, milestones.completedAtMs],
        journal: [journal.length, journal.commands, journal.hasEvents],
        isFailure: invocation.status === "completed" && invocation.outcome.kind === "failure",
      });
      expect(fields.decoded()).toEqual(decodeInvocation(row));
    }),
    { numRuns: 500 },
  );
});

test("fields of a later version are passed over, and a row that is cut off ends the walk", () => {
  const fields = new InvocationFields();
  fc.assert(
    fc.property(arbitraryInvocation, fc.nat(), (invocation, cut) => {
      const row = encodeInvocation(invocation);
      // Field 31, varint 5, field 30, two bytes, field 29, four bytes.
      fields.load(new Uint8Array([...row, 0xf8, 0x01, 0x05, 0xf2, 0x01, 0x02, 0x41, 0x42, 0xed, 0x01, 1, 2, 3, 4]));
      expect(fields.invocationId).toBe(invocation.facts.id);
      fields.load(row.subarray(0, 1 + (cut % row.length))); // Ends; what it found is no invocation, and nobody asks for it.
    }),
  );
});
