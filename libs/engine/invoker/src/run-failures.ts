/** Failed attempts of a run: what follows each failure, and its report to the log and to the partition. */
import { backoffMs, PerdureError } from "@perdure/base";
import type { RetryPolicy } from "@perdure/control";
import type { AttemptCommand, AttemptError, InvocationFacts } from "@perdure/state-machine";
import { type AttemptFailure, failure } from "./attempt-failure.js";
import type { AttemptRecord } from "./attempt-record.js";
import { LOGGED_REASON_CHARS_MAX, REFUSAL_BOUNDS, REFUSALS_MAX } from "./limits.js";
import { RetryBudget } from "./retry-budget.js";
import type { RunContext } from "./run-context.js";
import { traceIdOf } from "./trace.js";

/** Next step after a failed attempt; `delayMs` is the pause before a retry. */
export interface AfterFailure {
  readonly action: "retry" | "pause" | "kill";
  readonly delayMs: number;
}

export class RunFailures {
  readonly #facts: InvocationFacts;
  readonly #run: number;
  readonly #context: RunContext;
  /** Created at the first failure. */
  #budget: RetryBudget | undefined;
  #count = 0;
  /** Consecutive streams that the endpoint refused without processing them. */
  #refusalCount = 0;
  #retryCountSinceLastStoredEntry = 0;
  #last: AttemptError | undefined;

  constructor(facts: InvocationFacts, run: number, context: RunContext) {
    this.#facts = facts;
    this.#run = run;
    this.#context = context;
  }

  get last(): AttemptError | undefined {
    return this.#last;
  }

  get retryCountSinceLastStoredEntry(): number {
    return this.#retryCountSinceLastStoredEntry;
  }

  /** The endpoint processes the attempt: it has sent a command. */
  processed(command: AttemptCommand): void {
    this.#refusalCount = 0;
    if (command.kind === "appendCommand") this.#retryCountSinceLastStoredEntry = 0;
  }

  /**
   * The delay before another connection is tried, when this one refused the stream without processing it: nothing of the retry policy is
   * used up. Undefined: the failure counts.
   */
  refusalDelayMs({ isUnprocessed }: AttemptFailure): number | undefined {
    if (!isUnprocessed || this.#refusalCount >= REFUSALS_MAX) return undefined;
    return backoffMs(this.#refusalCount++, REFUSAL_BOUNDS, this.#context.random);
  }

  counted({ error, countsForSdk }: AttemptFailure): void {
    this.#count++;
    this.#last = error;
    if (countsForSdk) this.#retryCountSinceLastStoredEntry++;
  }

  decide({ behavior, nextRetryDelayMs }: AttemptFailure, policy: RetryPolicy): AfterFailure {
    if (behavior === "pause") return { action: "pause", delayMs: 0 };
    if (behavior === "fail") return { action: "kill", delayMs: 0 };
    if (nextRetryDelayMs !== undefined) return { action: "retry", delayMs: nextRetryDelayMs };
    this.#budget ??= new RetryBudget(this.#context.random, this.#context.options.attemptsMax);
    const delayMs = this.#budget.next(policy);
    return delayMs === undefined ? { action: policy.onMaxAttempts, delayMs: 0 } : { action: "retry", delayMs };
  }

  /** The policy's attempts count anew. */
  resetBudget(): void {
    this.#budget?.reset();
  }

  log(error: AttemptError, { count, deploymentId }: AttemptRecord, { action, delayMs }: AfterFailure): void {
    const { failureLog, logger } = this.#context;
    const { id, target, trace } = this.#facts;
    failureLog.warn(
      logger,
      { service: target.service, code: error.errorCode },
      {
        ...traceIdOf(trace),
        invocationId: id,
        deployment: deploymentId,
        target: `${target.service}/${target.handler}`,
        run: this.#run,
        attempt: count,
        code: error.errorCode,
        reason: error.message.slice(0, LOGGED_REASON_CHARS_MAX),
        command: error.relatedCommandName,
        action,
        delayMs: Math.round(delayMs),
      },
      "attempt failed",
    );
  }

  /** @param isRepeated the failure was reported before, with another consequence */
  report(error: AttemptError, then: AfterFailure["action"], isRepeated: boolean): void {
    const { id } = this.#facts;
    const failureCount = this.#count;
    this.#context.host.submit({ kind: "attemptFailed", id, run: this.#run, error, then, failureCount, isRepeated });
  }

  /** Logs that the store could not return the input of an attempt, and returns the failure of the attempt. */
  ofStorage(cause: unknown): AttemptFailure {
    const error = PerdureError.from(cause);
    const fields = { invocationId: this.#facts.id, run: this.#run, error, cause };
    this.#context.logger.error(fields, "journal or state could not be read");
    return failure("RT0006", `journal or state could not be read: ${error.detail}`, { countsForSdk: false });
  }
}
