/** Every setting of the worker, with its sentence, unit and default. Names are the reference's where it has them. */
import { type InvokerOptions, slotsByMemory } from "@perdure/invoker";
import {
  attemptSettings,
  boolean,
  byteSize,
  duration,
  group,
  integer,
  optionalByteSize,
  optionalInteger,
  optionalText,
  retentionSettings,
  retryPolicyOf,
} from "@perdure/process-kit";
import { isSupportedVersion, protocolVersionDefaultMax, protocolVersionMax, protocolVersionMin } from "@perdure/service-protocol";
import { THROTTLE_KEYS_MAX } from "@perdure/state-machine";
import type { z } from "zod";
import { PARTITION_COUNT_DEFAULT, PARTITION_COUNT_SETTING_MAX } from "./limits.js";
import { memoryBytesMax } from "./memory.js";

const invokerSettings = group("Attempts: the streams to user endpoints.", {
  ...attemptSettings,
  messageSizeLimit: byteSize("32MiB", { sentence: "Largest message from an endpoint; beyond it RT0003 (size)." }),
  eagerStateSizeLimit: optionalByteSize({
    sentence: "State up to this is sent along when an attempt starts (size); the message size limit when not set.",
  }),
  journalEntriesLimit: integer(100_000, {
    sentence: "Entries of one journal, beyond which a handler may only end (RT0100).",
    min: 2,
  }),
  journalSizeLimit: byteSize("256MiB", {
    sentence: "Bytes of all entries of one journal, beyond which a handler may only end (size, RT0100).",
  }),
  commandsPerSecondLimit: integer(2_000, {
    sentence: "Messages per second of one attempt, after five seconds' worth at once; beyond, its stream is read more slowly.",
    min: 1,
  }),
  commandBytesPerSecondLimit: byteSize("8MiB", {
    sentence:
      "Bytes of messages per second of one attempt, after two seconds' worth at once; beyond, its stream is read more slowly (size).",
  }),
  concurrentInvocationsLimit: optionalInteger({
    sentence: "Attempts with an open stream at one time; others wait. By the memory of the process, 1000 to 8192, when not set.",
    min: 1,
  }),
  maxProtocolVersion: integer(protocolVersionDefaultMax, {
    sentence: "Highest service protocol version offered to endpoints.",
    min: protocolVersionMin,
    max: protocolVersionMax,
  }),
});

/** The settings one by one, for programs that have more in their group. */
export const workerSettingsShape = {
  cleanupInterval: duration("1h", { sentence: "Interval at which data beyond its retention is removed (duration).", minMs: 1 }),
  numPartitions: integer(PARTITION_COUNT_DEFAULT, {
    sentence: "Partitions of a new data directory; one that exists keeps the number it was made with.",
    min: 1,
    max: PARTITION_COUNT_SETTING_MAX,
  }),
  incarnation: optionalText({
    sentence: "Name of the data set that a restored Redis begins: earlier workers are fenced, once for each name. Clusters only.",
  }),
  acceptDataLoss: optionalText({
    sentence:
      "Mark of the data set whose loss is accepted, from the error STO0005; the present data is used from then on. Remove it afterwards.",
  }),
  ...retentionSettings,
  throttleKeysLimit: integer(THROTTLE_KEYS_MAX, {
    sentence: "Throttle keys that each partition stores at one time; requests with further keys are refused with RT0104.",
    min: 1,
  }),
  storageRocksdb: group("Storage of partitions.", {
    path: optionalText({ sentence: "Directory; <base-dir>/<node-name>/db when not set." }),
    commitLog: boolean(false, {
      sentence:
        "Whether commits go to preallocated files, which are synced faster than LevelDB's own log. That one is synced when they cannot be used.",
    }),
    commitLogSegmentSize: byteSize("32MiB", {
      sentence: "Largest of the preallocated files, of which there are two or three (size). After a crash they are replayed.",
    }),
  }),
  invoker: invokerSettings,
} as const;

export const WORKER_SETTINGS_SENTENCE = "The worker: partitions, their storage, and attempts.";

export const workerSettings = group(WORKER_SETTINGS_SENTENCE, workerSettingsShape);

type WorkerSettings = z.output<typeof workerSettings>;

/** `requestHeaders` are sent with every request to an endpoint; names in lower case. `scopesEnabled`: handlers may name scopes. */
export function invokerOptionsOf(
  settings: WorkerSettings,
  requestHeaders: Readonly<Record<string, string>>,
  scopesEnabled: boolean,
): InvokerOptions {
  const { invoker } = settings;
  return {
    concurrentInvocationsMax: invoker.concurrentInvocationsLimit ?? slotsByMemory(memoryBytesMax()),
    protocolVersionMax: isSupportedVersion(invoker.maxProtocolVersion) ? invoker.maxProtocolVersion : protocolVersionDefaultMax,
    messageBytesMax: invoker.messageSizeLimit,
    journalEntriesMax: invoker.journalEntriesLimit,
    journalBytesMax: invoker.journalSizeLimit,
    pace: { messagesPerSecond: invoker.commandsPerSecondLimit, bytesPerSecond: invoker.commandBytesPerSecondLimit },
    eagerStateBytesMax: invoker.eagerStateSizeLimit ?? invoker.messageSizeLimit,
    additionalRequestHeaders: requestHeaders,
    retryPolicyDefault: retryPolicyOf(invoker),
    inactivityTimeoutMsDefault: invoker.inactivityTimeout,
    abortTimeoutMsDefault: invoker.abortTimeout,
    attemptsMax: invoker.maxRetryPolicyMaxAttempts,
    scopesEnabled,
  };
}
