/** Settings of the invoker for the operator, with the reference's defaults. */
import type { PreferredPartitions } from "@perdure/base";
import type { RetryPolicy } from "@perdure/control";
import { messageBytesMaxDefault, type ProtocolVersion, protocolVersionDefaultMax } from "@perdure/service-protocol";
import type { PaceLimits } from "./pace.js";

export interface InvokerOptions {
  /**
   * Maximum of concurrent attempts with an open stream; further runs wait, and services take turns. By default, workers derive it from
   * their memory.
   */
  readonly concurrentInvocationsMax: number;
  /** Highest protocol version offered to deployments; invocations pinned to a higher one keep it. */
  readonly protocolVersionMax: ProtocolVersion;
  /** Nominal limit of one message from an endpoint, bytes (RT0003). */
  readonly messageBytesMax: number;
  /** Entries of a journal, and bytes of their bodies, beyond which the handler may only end (RT0100). */
  readonly journalEntriesMax: number;
  readonly journalBytesMax: number;
  /** Rates that one attempt may use in the long run; beyond them, its stream is read more slowly. */
  readonly pace: PaceLimits;
  /** Keys and values sent along in Start, bytes; 0 sends none. */
  readonly eagerStateBytesMax: number;
  /** Sent with every request. Lower-case names. */
  readonly additionalRequestHeaders: Readonly<Record<string, string>>;
  /** Retry policy of handlers that the registry no longer describes. */
  readonly retryPolicyDefault: RetryPolicy;
  readonly inactivityTimeoutMsDefault: number;
  readonly abortTimeoutMsDefault: number;
  /** Cap on every policy's attempts, the first one included; undefined: none. */
  readonly attemptsMax: number | undefined;
  /** `experimental-enable-vqueues`: handlers may name scopes. */
  readonly scopesEnabled: boolean;
  /** Bytes of large messages that may arrive and be stored at the same time; `LARGE_MESSAGES_BYTES_MAX` by default. */
  readonly largeMessagesBytesMax?: number | undefined;
  /** Partitions for new callees that are plain services, which may be in any; undefined: all. */
  readonly preferredPartitions?: PreferredPartitions | undefined;
}

export const invokerDefaults: InvokerOptions = {
  concurrentInvocationsMax: 1_000,
  protocolVersionMax: protocolVersionDefaultMax,
  messageBytesMax: messageBytesMaxDefault,
  journalEntriesMax: 100_000,
  journalBytesMax: 256 * 1024 * 1024,
  pace: { messagesPerSecond: 2_000, bytesPerSecond: 8 * 1024 * 1024 },
  eagerStateBytesMax: messageBytesMaxDefault,
  additionalRequestHeaders: { "x-restate-cluster-name": "localcluster" },
  retryPolicyDefault: { initialIntervalMs: 500, factor: 2, maxIntervalMs: 60_000, maxAttempts: 70, onMaxAttempts: "pause" },
  inactivityTimeoutMsDefault: 60_000,
  abortTimeoutMsDefault: 600_000,
  attemptsMax: undefined,
  scopesEnabled: true,
};
