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
        scope: text(fields.facts.scope),
        service: text(fields.facts.service),
        key: text(fields.facts.key),
        handler: text(fields.facts.handler),
        serviceType: fields.facts.serviceType,
        source: fields.facts.sourceKind,
        idempotencyKey: text(fields.facts.idempotencyKey),
        limitKey: text(fields.facts.limitKey),
        hasDebounce: fields.facts.hasDebounce,
        hasEvent: fields.facts.hasEvent,
        deployment: text(fields.progress.pinnedDeployment),
        version: time(fields.progress.pinnedVersion),
        createdAtMs: fields.facts.createdAtMs,
        modifiedAtMs: fields.progress.modifiedAtMs,
        executionTimeMs: time(fields.facts.executionTimeMs),
        retention: [fields.facts.completionRetentionMs, fields.facts.journalRetentionMs],
        milestones: [
          fields.progress.scheduledAtMs,
          fields.progress.inboxedAtMs,
          fields.progress.runningAtMs,
          fields.progress.completedAtMs,
        ].map(time),
        journal: [fields.progress.journalLength, fields.progress.journalCommands, fields.progress.hasEvents],
        isFailure: fields.progress.isFailure,
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
        hasDebounce: facts.debounce !== undefined,
        hasEvent: facts.event !== undefined,
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
      // Names are cached from row to row, and never mixed up.
      const { service, key, handler } = fields.facts;
      for (const field of [service, key, handler, service]) expect(fields.name(field)).toBe(fields.text(field));
    }),
    { numRuns: 500 },
  );
});

test("fields of a later version are skipped, and a row that is cut off ends the scan", () => {
  const fields = new InvocationFields();
  fc.assert(
    fc.property(arbitraryInvocation, fc.nat(), (invocation, cut) => {
      const row = encodeInvocation(invocation);
      // Field 31, varint 5, field 30, two bytes, field 29, four bytes.
      fields.load(new Uint8Array([...row, 0xf8, 0x01, 0x05, 0xf2, 0x01, 0x02, 0x41, 0x42, 0xed, 0x01, 1, 2, 3, 4]));
      expect(fields.invocationId).toBe(invocation.facts.id);
      fields.load(row.subarray(0, 1 + (cut % row.length)));
      expect([fields.facts, fields.progress]).toHaveLength(2); // It ends; the result is not an invocation, and is not used.
    }),
  );
});
