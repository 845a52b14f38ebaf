/** Requests to a partition that follow its leader: they are sent again when another worker leads. */
import { type InvocationId, PerdureError } from "@perdure/base";
import type { Completion, Detach, InvokeObserver } from "@perdure/control";
import type { CommandAnswer, Invoke, PartitionCommand, Throttle } from "@perdure/state-machine";
import { decodeFailure, decodeOptionalInvocation, SUCCESS_FORM } from "./codec/answers.js";
import { encodeStoredCommand } from "./codec/commands.js";
import type { CompletedResponse, ExchangeResponseBody } from "./codec/exchange.js";
import { refusalOf } from "./codec/throttle-bodies.js";
import type { OpenExchange, WorkerLink, WorkerRequest } from "./link.js";
import { decodeError } from "./status.js";
import { decodeFailureV01 } from "./v01/exchange.js";

export const NO_LEADER = "the partition has no leader that answers";
export const OVERLOADED = "too much work is waiting";

export interface RequestRouter {
  again(routed: RoutedRequest): void;
  remove(routed: RoutedRequest): void;
}

/** A request on its way to the leader of its partition. */
export abstract class RoutedRequest implements OpenExchange {
  readonly id: InvocationId;
  /** Time since which the request has had no answer from a leader. */
  leaderlessSinceMs: number | undefined;
  protected readonly router: RequestRouter;
  #link: WorkerLink | undefined;
  #number: number | undefined;

  constructor(router: RequestRouter, id: InvocationId) {
    this.router = router;
    this.id = id;
  }

  /** The request for the leader of this epoch. */
  protected abstract requestBody(epoch: number): WorkerRequest;
  protected abstract received(response: ExchangeResponseBody): boolean;
  abstract failed(reason: string): void;

  set(link: WorkerLink, epoch: number): boolean {
    this.#number = link.request(this.requestBody(epoch), this);
    this.#link = link;
    return this.#number !== undefined;
  }

  answered(response: ExchangeResponseBody): boolean {
    if (response.case === "notLeader") {
      this.#number = undefined;
      this.router.again(this);
      return true;
    }
    this.leaderlessSinceMs = undefined;
    return this.received(response);
  }

  broken(): void {
    this.#number = undefined;
    this.router.again(this);
  }

  protected withdraw(): void {
    if (this.#number !== undefined) this.#link?.discard(this.#number);
    this.router.remove(this);
  }
}

export class RoutedInvoke extends RoutedRequest implements Detach {
  readonly #command: Uint8Array;
  readonly #wait: boolean;
  readonly #throttle: Throttle | undefined;
  #observer: InvokeObserver | undefined;
  #isAccepted = false;
  /** The invocation that was accepted: an earlier one when a debounced send has joined it. */
  #acceptedId: InvocationId;
  #isResubmission = false;

  constructor(router: RequestRouter, command: Invoke, wait: boolean, observer: InvokeObserver) {
    super(router, command.id);
    this.#acceptedId = command.id;
    this.#command = encodeStoredCommand(command);
    this.#isResubmission = command.resubmission === true;
    this.#wait = wait;
    this.#throttle = command.throttle;
    this.#observer = observer;
  }

  protected requestBody(epoch: number): WorkerRequest {
    if (this.#isAccepted) return { case: "attach", value: this.#acceptedId };
    const resubmission = this.#isResubmission;
    this.#isResubmission = true; // From now on the request may have arrived.
    return { case: "invoke", value: { command: this.#command, wait: this.#wait, resubmission, epoch, throttle: this.#throttle } };
  }

  protected received(response: ExchangeResponseBody): boolean {
    const observer = this.#observer;
    switch (response.case) {
      case "submitted": {
        if (!this.#isAccepted) {
          this.#isAccepted = true;
          const previous = response.value === undefined ? undefined : decodeOptionalInvocation(response.value);
          if (previous !== undefined) this.#acceptedId = previous.facts.id;
          observer?.submitted(previous);
        }
        if (!this.#wait) this.#observer = undefined;
        return !this.#wait;
      }
      case "completed": {
        const completion = completionOf(response.value);
        if (completion instanceof PerdureError) {
          this.failed(completion.detail);
          return true;
        }
        this.#observer = undefined;
        observer?.completed(completion);
        return true;
      }
      case "throttled": {
        this.#observer = undefined;
        observer?.throttled?.(refusalOf(response.value));
        return true;
      }
      case "notFound":
        // Accepted, completed and deleted while the partition moved: no result is left to report.
        this.failed("the invocation ended while its partition moved, and its result is not kept");
        return true;
      default:
        this.failed(reasonOf(response));
        return true;
    }
  }

  failed(reason: string): void {
    const observer = this.#observer;
    this.#observer = undefined;
    observer?.unavailable(reason);
  }

  detach(): void {
    if (this.#observer === undefined) return;
    this.#observer = undefined;
    // A request that is not yet accepted must still arrive: only the waiting ends.
    if (this.#isAccepted) this.withdraw();
  }
}

export class RoutedAttach extends RoutedRequest implements Detach {
  #observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void } | undefined;

  constructor(
    router: RequestRouter,
    id: InvocationId,
    observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void },
  ) {
    super(router, id);
    this.#observer = observer;
  }

  protected requestBody(): WorkerRequest {
    return { case: "attach", value: this.id };
  }

  protected received(response: ExchangeResponseBody): boolean {
    const observer = this.#observer;
    this.#observer = undefined;
    const answer = response.case === "completed" ? completionOf(response.value) : response.case;
    if (answer instanceof PerdureError) observer?.unavailable(answer.detail);
    else if (typeof answer === "object") observer?.completed(answer);
    else if (answer === "notFound") observer?.notFound();
    else observer?.unavailable(reasonOf(response));
    return true;
  }

  failed(reason: string): void {
    const observer = this.#observer;
    this.#observer = undefined;
    observer?.unavailable(reason);
  }

  detach(): void {
    this.#observer = undefined;
    this.withdraw();
  }
}

/** One question, one answer. */
export class RoutedQuery<T> extends RoutedRequest {
  readonly #question: WorkerRequest;
  readonly #read: (response: ExchangeResponseBody, isRepetition: boolean) => T;
  readonly #resolve: (result: T) => void;
  readonly #reject: (error: PerdureError) => void;
  /** Whether a leader may have carried out the request before its answer was lost. */
  #isRepetition = false;
  /** Whether the request must not be carried out twice. */
  isOnce = false;

  constructor(
    router: RequestRouter,
    id: InvocationId,
    question: WorkerRequest,
    read: (response: ExchangeResponseBody, isRepetition: boolean) => T,
    { resolve, reject }: Pick<PromiseWithResolvers<T>, "resolve" | "reject">,
  ) {
    super(router, id);
    this.#question = question;
    this.#read = read;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  protected requestBody(): WorkerRequest {
    return this.#question;
  }

  /** A malformed answer rejects; it must not end the process that reads it. */
  protected received(response: ExchangeResponseBody): boolean {
    if (response.case === "unavailable") this.failed(response.value);
    else if (response.case === "error") this.#reject(decodeError(response.value));
    else {
      try {
        this.#resolve(this.#read(response, this.#isRepetition));
      } catch (cause) {
        this.#reject(PerdureError.from(cause));
      }
    }
    return true;
  }

  override broken(): void {
    if (this.isOnce)
      return this.failed("the partition's leader was lost before it answered: the request may have been carried out or not");
    this.#isRepetition = true;
    super.broken();
  }

  failed(reason: string): void {
    this.#reject(new PerdureError("STO0002", reason));
  }
}

/**
 * Refusals that a repeated command gets because its first try took effect and the answer was lost: the invocation is completed, or it is
 * gone because it had not begun or is not retained. A cancellation that took effect was pending first; `done` means that the invocation
 * never began.
 */
export const OWN_EFFECTS: {
  readonly [kind in PartitionCommand["kind"]]?: { readonly [kind in CommandAnswer["kind"]]?: CommandAnswer };
} = {
  kill: { alreadyCompleted: { kind: "done" }, notFound: { kind: "done" } },
  cancel: { alreadyCompleted: { kind: "pending" }, notFound: { kind: "done" } },
  resume: { alreadyCompleted: { kind: "done" } },
  purge: { notFound: { kind: "done" } },
};

/** Returns the error when the outcome cannot be read. */
function completionOf({ outcome, expiresAtMs, failure }: CompletedResponse): Completion | PerdureError {
  if (failure === undefined && outcome[0] === SUCCESS_FORM)
    return { outcome: { kind: "success", value: outcome.subarray(1) }, expiresAtMs };
  try {
    return { outcome: failure === undefined ? decodeFailureV01(outcome) : decodeFailure(failure), expiresAtMs };
  } catch (cause) {
    return PerdureError.from(cause);
  }
}

/** Why a leader did not carry out a request. */
function reasonOf(response: ExchangeResponseBody): string {
  if (response.case === "unavailable") return response.value;
  return response.case === "error" ? decodeError(response.value).detail : unexpected(response).message;
}

export function unexpected(response: ExchangeResponseBody): PerdureError {
  return new PerdureError("OPS0003", `a leader answered '${response.case}' where that is not an answer`);
}
