import { describe, expect, test } from "@jest/globals";
import { toHex } from "@perdure/base";
import fc from "fast-check";
import {
  commandAckFrame,
  commandTypeOf,
  decodeCommand,
  decodeControl,
  decodeFuture,
  decodeNotification,
  decodeStart,
  encodeCommand,
  encodeControl,
  encodeFrame,
  encodeFuture,
  encodeNotification,
  encodeStart,
  frameHeaderBytes,
  futureFromLists,
  isEmptyFuture,
  MessageType,
  proposeRunCompletionAckFrame,
} from "../src/index.js";
import {
  awaitings,
  commandKinds,
  commandsOfKind,
  errors,
  futures,
  notificationIds,
  notificationResults,
  runProposals,
  starts,
} from "./arbitraries.js";
import {
  type OracleMessage,
  oracleAck,
  oracleAwaitingOn,
  oracleCommand,
  oracleError,
  oracleNotification,
  oracleProposal,
  oracleStart,
  oracleSuspension,
} from "./oracle.js";

describe("our codec and an independent one write the same bytes and read each other", () => {
  test.each(commandKinds)("command %s", (kind) => {
    check(commandsOfKind(kind), (command) => {
      const other = oracleCommand(command);
      expectAgreement(encodeCommand(command), other);
      expect(decodeCommand(commandTypeOf[kind], other.bytes)).toEqual(command);
    });
  });

  test("notifications", () => {
    check(fc.tuple(notificationIds, notificationResults), ([id, result]) => {
      const other = oracleNotification(id, result);
      const type = id.kind === "completion" ? MessageType.RunCompletion : MessageType.Signal;
      expectAgreement(encodeNotification(id, result), other);
      expect(decodeNotification(type, other.bytes)).toEqual({ kind: "notification", type, id, result });
    });
  });

  test("start, all of it on v7", () => {
    check(starts, (start) => {
      const other = oracleStart(start);
      expectAgreement(encodeStart(start, 7), other);
      expect(decodeStart(other.bytes)).toEqual(start);
    });
  });

  test("start on v5 and v6, without what came with v7", () => {
    check(fc.tuple(starts, fc.constantFrom(5 as const, 6 as const)), ([start, version]) => {
      const reduced = { ...start, scope: undefined, limitKey: undefined, idempotencyKey: undefined };
      expectAgreement(encodeStart(start, version), oracleStart(reduced));
    });
  });

  test("errors", () => {
    check(errors, (error) => {
      const other = oracleError(error);
      expectAgreement(encodeControl(error, 7), other);
      expect(decodeControl(MessageType.Error, other.bytes, 6)).toEqual(error);
    });
  });

  test("run proposals", () => {
    check(runProposals, (proposal) => {
      const other = oracleProposal(proposal);
      expectAgreement(encodeControl(proposal, 6), other);
      expect(decodeControl(MessageType.ProposeRunCompletion, other.bytes, 6)).toEqual(proposal);
    });
  });

  test("awaiting on", () => {
    check(awaitings, (awaiting) => {
      const other = oracleAwaitingOn(awaiting);
      expectAgreement(encodeControl(awaiting, 7), other);
      expect(decodeControl(MessageType.AwaitingOn, other.bytes, 7)).toEqual(awaiting);
    });
  });

  test("suspensions on a tree, v7", () => {
    check(
      futures.filter((future) => !isEmptyFuture(future)),
      (awaitingOn) => {
        const other = oracleSuspension(awaitingOn, 7);
        expectAgreement(encodeControl({ kind: "suspension", awaitingOn }, 7), other);
        expect(decodeControl(MessageType.Suspension, other.bytes, 7)).toEqual({ kind: "suspension", awaitingOn });
      },
    );
  });

  test("suspensions on lists, v5 and v6", () => {
    check(
      futures
        .map((tree) => futureFromLists(tree.completions, tree.signalIndexes, tree.signalNames))
        .filter((f) => !isEmptyFuture(f)),
      (awaitingOn) => {
        const other = oracleSuspension(awaitingOn, 6);
        expectAgreement(encodeControl({ kind: "suspension", awaitingOn }, 6), other);
        expect(decodeControl(MessageType.Suspension, other.bytes, 5)).toEqual({ kind: "suspension", awaitingOn });
      },
    );
  });

  test.each([
    ["CommandAck", commandAckFrame],
    ["ProposeRunCompletionAck", proposeRunCompletionAckFrame],
  ] as const)("%s", (name, encode) => {
    check(fc.nat({ max: 0xffff_ffff }), (id) => {
      const type = MessageType[name];
      const frame = encode(id);
      expectAgreement(frame.subarray(frameHeaderBytes), oracleAck(type, id));
      expect(toHex(frame)).toBe(toHex(encodeFrame(type, frame.subarray(frameHeaderBytes))));
    });
  });

  test("futures survive storage", () => {
    check(futures, (future) => {
      expect(decodeFuture(encodeFuture(future))).toEqual(future);
    });
  });
});

function check<T>(values: fc.Arbitrary<T>, property: (value: T) => void): void {
  fc.assert(fc.property(values, property), { numRuns: 200 });
}

function expectAgreement(ours: Uint8Array, other: OracleMessage): void {
  expect(toHex(ours)).toBe(toHex(other.bytes));
  expect(other.reads(ours)).toEqual(other.message);
}
