/** Inputs of an attempt, and its reports to its run. */
import type { Clock } from "@perdure/base";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import type { AttemptCommand } from "@perdure/state-machine";
import type { AttemptDeps, AttemptEnding } from "./attempt-plan.js";
import type { AttemptDeadlines } from "./deadlines.js";
import type { FairShares } from "./fair-shares.js";
import type { FlushGroup } from "./flush-group.js";
import type { LargeMessages } from "./large-messages.js";
import type { InvokerMetrics } from "./metrics.js";
import type { PaceLimits } from "./pace.js";

export interface AttemptTimes {
  readonly inactivityTimeoutMs: number;
  readonly abortTimeoutMs: number;
}

/** The run an attempt belongs to. */
export interface AttemptOwner {
  submit(command: AttemptCommand): void;
  /** See `InvokerHost.settled`. */
  whenDurable(callback: () => void): void;
  /** See `InvokerHost.stage`. */
  readonly stage: ((body: Uint8Array) => Promise<Disposable>) | undefined;
  /** The outcome that the handler reported, or the failure that ended the attempt. */
  attemptEnded(ending: AttemptEnding): void;
  /** Called after `attemptEnded`: the stream is closed. */
  attemptOver(): void;
  serverIdentified(name: string): void;
  /** The endpoint has answered with response headers that carry a service protocol. */
  headersReceived(): void;
  /** The handler has sent its first message. */
  responded(): void;
  /** The endpoint accepts no more streams at the moment and the stream of the attempt waits, or it no longer waits. */
  streamWaits(isWaiting: boolean): void;
}

export interface AttemptContext extends AttemptDeps {
  readonly clock: Clock;
  readonly transport: EndpointTransport;
  readonly flushes: FlushGroup;
  readonly deadlines: AttemptDeadlines;
  readonly shares: FairShares;
  readonly pace: PaceLimits;
  readonly largeMessages: LargeMessages;
  readonly metrics: InvokerMetrics;
}
