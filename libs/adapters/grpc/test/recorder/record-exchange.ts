/**
 * Recorded `testdata/exchange.v1.json` (the form of v0.1, whose bytes the codec of 221d944c wrote equally) and `testdata/exchange.v2.json`,
 * once, when messages replaced JSON in `Partitions.Exchange`:
 *
 *     node deploy/run-ts.mjs libs/adapters/grpc/test/recorder/record-exchange.ts libs/adapters/grpc/testdata
 *
 * Never run it again over those files: they stand for what processes of released versions send. New messages get files of their own.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DeploymentId, type InvocationId, PerdureError, toBinaryString, utf8, vqueueId } from "@perdure/base";
import { type CommandAnswer, EMPTY_PROGRESS, type Invocation } from "@perdure/state-machine";
import { anId, someFacts } from "@perdure/state-machine/testing";
import { encodeAnswer, encodeFailure, type FailedOutcome } from "../../src/codec/answers.js";
import { HELLO } from "../../src/codec/capabilities.js";
import { encodeManagementCommand, type ManagementCommand } from "../../src/codec/commands.js";
import { encodeError } from "../../src/status.js";
import { encodeAnswerV01, encodeCommandV01, encodeFailureV01 } from "../../src/v01/exchange.js";
import { recordedJson, toBase64 } from "../recorded-json.js";

const [directory = "."] = process.argv.slice(2);

const id: InvocationId = anId(1);
const newId: InvocationId = anId(2);
const moveTo = "dp_15ChR1PDwZt22Rn2lfZrRo5" as DeploymentId;
const queue = vqueueId({ service: "Counter", scope: undefined, limitKey: undefined, lockKey: "k" });

const COMMANDS: readonly ManagementCommand[] = [
  { kind: "cancel", id },
  { kind: "kill", id },
  { kind: "pause", id },
  { kind: "resume", id, moveTo: undefined },
  { kind: "resume", id, moveTo },
  { kind: "restartAsNew", id, newId, from: 0, moveTo: undefined, keepDeployment: true },
  { kind: "restartAsNew", id, newId, from: 4_000_000_000, moveTo, keepDeployment: false },
  { kind: "purge", id },
  { kind: "purgeJournal", id },
  { kind: "mutateState", id, service: "S", key: "", exclusive: false, expectedVersion: undefined, entries: [] },
  {
    kind: "mutateState",
    id,
    service: "Counter",
    key: "clé",
    exclusive: true,
    expectedVersion: "v1",
    entries: [
      { key: toBinaryString(Uint8Array.of(0, 200, 255)), value: utf8("one") },
      { key: "n", value: new Uint8Array(0) },
    ],
  },
  { kind: "pauseQueue", id, queue },
  { kind: "resumeQueue", id, queue },
];

const SCHEDULED: Invocation = {
  status: "scheduled",
  facts: someFacts({ id, executionTimeMs: 1_795_000_000_000 }),
  modifiedAtMs: 1_794_000_000_000,
  run: 0,
  pinned: undefined,
  journal: EMPTY_PROGRESS,
  sinks: [],
  milestones: { scheduledAtMs: 1_794_000_000_000, inboxedAtMs: undefined, runningAtMs: undefined, completedAtMs: undefined },
};

const ANSWERS: readonly CommandAnswer[] = [
  { kind: "accepted" },
  { kind: "previouslyAccepted", invocation: SCHEDULED },
  { kind: "done" },
  { kind: "pending" },
  { kind: "alreadyPaused" },
  { kind: "notFound" },
  { kind: "alreadyCompleted" },
  { kind: "notRunning" },
  { kind: "notStarted" },
  { kind: "stillRunning" },
  { kind: "deploymentNotPinned" },
  { kind: "notCompleted" },
  { kind: "journalGone" },
  { kind: "versionMismatch" },
  { kind: "tooManyPauses" },
  { kind: "notRestartable", reason: "workflow" },
  { kind: "notRestartable", reason: "incompletePrefix" },
];

const FAILURES: readonly FailedOutcome[] = [
  { kind: "failure", failure: { code: 409, message: "killed", metadata: [] }, stacktrace: undefined },
  {
    kind: "failure",
    failure: {
      code: 65_535,
      message: "naïve ☃",
      metadata: [
        { key: "a", value: "" },
        { key: "a", value: "b" },
      ],
    },
    stacktrace: "Error: x\n  at y",
  },
];

const ERROR = new PerdureError("STO0002", "the partition moved");

function write(name: string, rows: readonly (readonly [form: string, bytes: Uint8Array, value: unknown])[]): void {
  const lines = rows.map(([form, bytes, value]) => JSON.stringify({ form, bytes: toBase64(bytes), value: recordedJson(value) }));
  writeFileSync(join(directory, name), `[\n${lines.join(",\n")}\n]\n`);
}

write("exchange.v1.json", [
  ...COMMANDS.map((command) => ["command", encodeCommandV01(command), command] as const),
  ...ANSWERS.map((answer) => ["answer", encodeAnswerV01(answer), answer] as const),
  ...FAILURES.map((failure) => ["failure", encodeFailureV01(failure), failure] as const),
]);
write("exchange.v2.json", [
  ["hello", HELLO, { readsTypedCommands: true }],
  ...COMMANDS.map((command) => ["command", encodeManagementCommand(command), command] as const),
  ...ANSWERS.map((answer) => ["answer", encodeAnswer(answer), answer] as const),
  ...FAILURES.map((failure) => ["failure", encodeFailure(failure), failure] as const),
  ["error", encodeError(ERROR), { code: ERROR.code, detail: ERROR.detail }],
]);
