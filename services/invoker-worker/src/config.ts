/** Every setting of the worker, with its sentence, unit and default. Names are the reference's where it has them. */
import type { RetryPolicy } from "@perdure/control";
import type { InvokerOptions } from "@perdure/invoker";
import {
  byteSize,
  choice,
  decimal,
  duration,
  group,
  integer,
  optionalByteSize,
  optionalDuration,
  optionalInteger,
  optionalText,
} from "@perdure/role";
import { isSupportedVersion, protocolVersionDefaultMax, protocolVersionMax, protocolVersionMin } from "@perdure/service-protocol";
import type { z } from "zod";
import { PARTITION_COUNT_DEFAULT, PARTITION_COUNT_SETTING_MAX } from "./limits.js";

const retryPolicySettings = group("How failed attempts are repeated unless a service or handler says otherwise.", {
  initialInterval: duration("500ms", { sentence: "Pause before the second attempt (duration).", minMs: 1 }),
  exponentiationFactor: decimal(2, { sentence: "Each further pause is this many times longer.", min: 1, max: 1000 }),
  maxInterval: duration("1m", { sentence: "No pause is longer than this (duration).", minMs: 1 }),
  maxAttempts: integer(70, { sentence: "Attempts in all, the first included.", min: 1 }),
  onMaxAttempts: choice(["pause", "kill"], "pause", {
    sentence: "Then: pause until somebody resumes it, or kill, which ends the invocation with its last error.",
  }),
});

const invokerSettings = group("Attempts: the streams to user endpoints.", {
  inactivityTimeout: duration("1m", {
    sentence: "After so long without a message in either direction the handler is asked to suspend (duration).",
  }),
  abortTimeout: duration("10m", {
    sentence:
      "After so long without a message from a handler that was asked to suspend its stream is aborted, RT0001 (duration).",
  }),
  messageSizeLimit: byteSize("32MiB", { sentence: "Largest message from an endpoint; beyond it RT0003 (size)." }),
  eagerStateSizeLimit: optionalByteSize({
    sentence: "State up to this is sent along when an attempt starts (size); the message size limit when not set.",
  }),
  concurrentInvocationsLimit: integer(1000, { sentence: "Attempts with an open stream at one time; others wait.", min: 1 }),
  maxProtocolVersion: integer(protocolVersionDefaultMax, {
    sentence: "Highest service protocol version offered to endpoints.",
    min: protocolVersionMin,
    max: protocolVersionMax,
  }),
  maxRetryPolicyMaxAttempts: optionalInteger({ sentence: "Cap on the attempts that any retry policy may ask for.", min: 1 }),
  defaultRetryPolicy: retryPolicySettings,
});

export const workerSettings = group("The worker: partitions, their storage, and attempts.", {
  cleanupInterval: duration("1h", { sentence: "How often what outlived its retention is removed (duration).", minMs: 1 }),
  numPartitions: integer(PARTITION_COUNT_DEFAULT, {
    sentence: "Partitions of a new data directory; one that exists keeps the number it was made with.",
    min: 1,
    max: PARTITION_COUNT_SETTING_MAX,
  }),
  defaultJournalRetention: duration("1d", { sentence: "How long journals of completed invocations are kept (duration)." }),
  maxJournalRetention: optionalDuration({ sentence: "Cap on the journal retention that a service may ask for (duration)." }),
  storageRocksdb: group("Where partitions live.", {
    path: optionalText({ sentence: "Directory; <base-dir>/<node-name>/db when not set." }),
  }),
  invoker: invokerSettings,
});

export type WorkerSettings = z.output<typeof workerSettings>;

export function retryPolicyOf(settings: WorkerSettings): RetryPolicy {
  const policy = settings.invoker.defaultRetryPolicy;
  return {
    initialIntervalMs: policy.initialInterval,
    factor: policy.exponentiationFactor,
    maxIntervalMs: policy.maxInterval,
    maxAttempts: policy.maxAttempts,
    onMaxAttempts: policy.onMaxAttempts,
  };
}

/** `requestHeaders` go with every request to an endpoint; names in lower case. `scopesEnabled`: handlers may name scopes. */
export function invokerOptionsOf(
  settings: WorkerSettings,
  requestHeaders: Readonly<Record<string, string>>,
  scopesEnabled: boolean,
): InvokerOptions {
  const { invoker } = settings;
  return {
    concurrentInvocationsMax: invoker.concurrentInvocationsLimit,
    protocolVersionMax: isSupportedVersion(invoker.maxProtocolVersion) ? invoker.maxProtocolVersion : protocolVersionDefaultMax,
    messageBytesMax: invoker.messageSizeLimit,
    eagerStateBytesMax: invoker.eagerStateSizeLimit ?? invoker.messageSizeLimit,
    additionalRequestHeaders: requestHeaders,
    retryPolicyDefault: retryPolicyOf(settings),
    inactivityTimeoutMsDefault: invoker.inactivityTimeout,
    abortTimeoutMsDefault: invoker.abortTimeout,
    attemptsMax: invoker.maxRetryPolicyMaxAttempts,
    scopesEnabled,
  };
}
