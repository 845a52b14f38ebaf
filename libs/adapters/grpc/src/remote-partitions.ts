/**
 * The `Partitions` port for leaders in other processes: every request goes to the leader of its partition and follows the partition when it
 * moves. A request whose outcome is unknown is repeated only in a form that cannot take effect twice:
 *
 *     invoke    repeated, marked as a resubmission: the leader recognises the id. The first request names the epoch of the leader,
 *               because it may arrive after the second one over a connection that was given up
 *     accepted  not repeated: the caller attaches by id
 *     edits     of user state without the version that they replace: not repeated, since a handler may have written meanwhile
 *     others    repeated: each of them is idempotent (a copy has its id from the caller, cancel, kill and the like find their own result)
 */
import { type Clock, type InvocationId, PerdureError, partitionOf, type TimerHandle } from "@perdure/base";
import type { Completion, Courier, Delivery, Detach, InvokeObserver, Partitions } from "@perdure/control";
import { type CommandAnswer, expiresAtMs, type Invocation, type Invoke, type PartitionCommand } from "@perdure/state-machine";
import { decodeAnswer, decodeOptionalInvocation, decodeOutcome } from "./codec/answers.js";
import { encodeCommand, type RemoteCommand } from "./codec/commands.js";
import type { CompletedResponse, ExchangeRequestBody, ExchangeResponseBody } from "./codec/exchange.js";
import type { LeaderDirectory } from "./leadership.js";
import { LEADER_WAIT_MS, LEADERLESS_MAX, REROUTE_MS } from "./limits.js";
import type { PendingRequest, WorkerLink } from "./link.js";

export interface RemotePartitionsPorts {
  readonly directory: LeaderDirectory;
  /** The one link to a worker; made when it is first needed. */
  readonly link: (address: string) => WorkerLink;
  readonly clock: Clock;
}

const NO_LEADER = "the partition has no leader that answers";
const OVERLOADED = "too much work is waiting";

export class RemotePartitions implements Partitions, Courier {
  readonly #ports: RemotePartitionsPorts;
  /** Requests that wait for a leader, oldest first. */
  #leaderless = new Set<RoutedRequest>();
  /** The worker that requests of a partition were last sent to, by partition. */
  readonly #leaders = new Map<number, string>();
  #sweep: TimerHandle | undefined;
  readonly #stopListening: () => void;
  #closed = false;

  constructor(ports: RemotePartitionsPorts) {
    this.#ports = ports;
    this.#stopListening = ports.directory.onChange(() => {
      this.#follow();
      this.#retry();
    });
    this.#follow();
  }

  invoke(command: Invoke, wait: boolean, observer: InvokeObserver): Detach {
    const routed = new RoutedInvoke(this.#router, command, wait, observer);
    this.#send(routed);
    return routed;
  }

  attach(
    id: InvocationId,
    observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void },
  ): Detach {
    const routed = new RoutedAttach(this.#router, id, observer);
    this.#send(routed);
    return routed;
  }

  async output(
    id: InvocationId,
  ): Promise<{ kind: "completed"; completion: Completion } | { kind: "pending" } | { kind: "notFound" }> {
    const invocation = await this.describe(id);
    if (invocation === undefined) return { kind: "notFound" };
    if (invocation.status !== "completed") return { kind: "pending" };
    return { kind: "completed", completion: { outcome: invocation.outcome, expiresAtMs: expiresAtMs(invocation) } };
  }

  describe(id: InvocationId): Promise<Invocation | undefined> {
    return new Promise((resolve, reject) => {
      const read = (response: ExchangeResponseBody) =>
        response.case === "invocation" ? resolve(decodeOptionalInvocation(response.value)) : reject(unexpected(response));
      this.#send(new RoutedQuery(this.#router, id, () => ({ case: "describe", value: id }), read, reject));
    });
  }

  submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer> {
    const value = encodeCommand(command as RemoteCommand);
    return new Promise((resolve, reject) => {
      const read = (response: ExchangeResponseBody, isRepetition: boolean) => {
        if (response.case !== "answer") return reject(unexpected(response));
        const answer = decodeAnswer(response.value);
        resolve((isRepetition ? OWN_EFFECTS[command.kind]?.[answer.kind] : undefined) ?? answer);
      };
      const routed = new RoutedQuery(this.#router, command.id, () => ({ case: "submit", value }), read, reject);
      routed.isOnce = command.kind === "mutateState" && command.expectedVersion === undefined;
      this.#send(routed);
    });
  }

  /**
   * Sends an outbox message. Calls `delivered` when the receiver has stored it, `undelivered` when the attempt failed; the sending
   * partition decides when to retry, so that messages of one producer keep their order.
   */
  deliver({ command, producer, seq, after }: Delivery, delivered: () => void, undelivered: () => void): void {
    const message = { producer, seq, command: encodeCommand(command as RemoteCommand), after };
    const leader = this.#leaderOf(command.id);
    const pending: PendingRequest = {
      id: command.id,
      answered(response) {
        if (response.case === "delivered") delivered();
        else undelivered();
        return true;
      },
      broken: undelivered,
    };
    if (leader?.link.request({ case: "deliver", value: message }, pending) === undefined) undelivered();
  }

  /** Fails the waiting requests, because this process ends. */
  close(): void {
    this.#closed = true;
    this.#stopListening();
    this.#sweep?.cancel();
    const leaderless = this.#leaderless;
    this.#leaderless = new Set();
    for (const routed of leaderless) routed.failed("this process is shutting down");
  }

  /** How requests come back here. */
  readonly #router: RequestRouter = {
    again: (routed) => this.#waitForLeader(routed),
    remove: (routed) => this.#leaderless.delete(routed),
  };

  #leaderOf(id: InvocationId): { readonly link: WorkerLink; readonly epoch: number } | undefined {
    const { directory, link } = this.#ports;
    if (directory.partitionCount === 0) return undefined;
    const leader = directory.leaderOf(partitionOf(id, directory.partitionCount));
    return leader === undefined ? undefined : { link: link(leader.address), epoch: leader.epoch };
  }

  #send(routed: RoutedRequest): void {
    const leader = this.#leaderOf(routed.id);
    if (leader === undefined) return this.#waitForLeader(routed);
    if (!routed.set(leader.link, leader.epoch)) routed.failed(OVERLOADED);
  }

  /**
   * Sends requests to a replaced leader again to its successor. The old leader may be frozen or disconnected: its silence would be noticed
   * much later, and its answers no longer count.
   */
  #follow(): void {
    const { directory, link } = this.#ports;
    const { partitionCount } = directory;
    const moved = new Map<string, Set<number>>();
    for (const { partition, address } of directory.claims()) {
      const before = this.#leaders.get(partition);
      if (before === address) continue;
      this.#leaders.set(partition, address);
      if (before === undefined) continue;
      const partitions = moved.get(before) ?? new Set();
      moved.set(before, partitions.add(partition));
    }
    for (const [address, partitions] of moved)
      link(address).giveBack(({ id }) => partitions.has(partitionOf(id, partitionCount)), "its partition is led elsewhere now");
  }

  /** The partition has no leader, or its leader is gone: wait for a directory update, with a time limit. */
  #waitForLeader(routed: RoutedRequest): void {
    if (this.#closed) return routed.failed("this process is shutting down");
    if (this.#leaderless.size >= LEADERLESS_MAX) return routed.failed(OVERLOADED);
    routed.leaderlessSinceMs ??= this.#ports.clock.monotonicMs();
    this.#leaderless.add(routed);
    this.#sweep ??= this.#ports.clock.setTimer(REROUTE_MS, () => {
      this.#sweep = undefined;
      this.#retry();
    });
  }

  #retry(): void {
    if (this.#leaderless.size === 0) return;
    const nowMs = this.#ports.clock.monotonicMs();
    const leaderless = this.#leaderless;
    this.#leaderless = new Set();
    for (const routed of leaderless) {
      const isOverdue = nowMs - (routed.leaderlessSinceMs ?? nowMs) > LEADER_WAIT_MS;
      if (isOverdue) routed.failed(NO_LEADER);
      else this.#send(routed);
    }
  }
}

interface RequestRouter {
  again(routed: RoutedRequest): void;
  remove(routed: RoutedRequest): void;
}

/** A request on its way to the leader of its partition. */
abstract class RoutedRequest implements PendingRequest {
  readonly id: InvocationId;
  /** Since when it has been without an answer from a leader. */
  leaderlessSinceMs: number | undefined;
  protected readonly router: RequestRouter;
  #link: WorkerLink | undefined;
  #number: number | undefined;

  constructor(router: RequestRouter, id: InvocationId) {
    this.router = router;
    this.id = id;
  }

  /** The request for the leader of this epoch. */
  protected abstract requestBody(epoch: number): ExchangeRequestBody;
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

class RoutedInvoke extends RoutedRequest implements Detach {
  readonly #command: Uint8Array;
  readonly #wait: boolean;
  #observer: InvokeObserver | undefined;
  #isAccepted = false;
  #isResubmission = false;

  constructor(router: RequestRouter, command: Invoke, wait: boolean, observer: InvokeObserver) {
    super(router, command.id);
    this.#command = encodeCommand(command);
    this.#isResubmission = command.resubmission === true;
    this.#wait = wait;
    this.#observer = observer;
  }

  protected requestBody(epoch: number): ExchangeRequestBody {
    if (this.#isAccepted) return { case: "attach", value: this.id };
    const resubmission = this.#isResubmission;
    this.#isResubmission = true; // From now on the request may have arrived.
    return { case: "invoke", value: { command: this.#command, wait: this.#wait, resubmission, epoch } };
  }

  protected received(response: ExchangeResponseBody): boolean {
    const observer = this.#observer;
    switch (response.case) {
      case "submitted": {
        if (!this.#isAccepted) {
          this.#isAccepted = true;
          observer?.submitted(response.value === undefined ? undefined : decodeOptionalInvocation(response.value));
        }
        if (!this.#wait) this.#observer = undefined;
        return !this.#wait;
      }
      case "completed":
        this.#observer = undefined;
        observer?.completed(completionOf(response.value));
        return true;
      case "notFound":
        // Accepted, completed and deleted while the partition moved: no result is left to report.
        this.failed("the invocation ended while its partition moved, and its result is not kept");
        return true;
      default:
        this.failed(response.case === "unavailable" ? response.value : unexpected(response).message);
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

class RoutedAttach extends RoutedRequest implements Detach {
  #observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void } | undefined;

  constructor(
    router: RequestRouter,
    id: InvocationId,
    observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void },
  ) {
    super(router, id);
    this.#observer = observer;
  }

  protected requestBody(): ExchangeRequestBody {
    return { case: "attach", value: this.id };
  }

  protected received(response: ExchangeResponseBody): boolean {
    const observer = this.#observer;
    this.#observer = undefined;
    if (response.case === "completed") observer?.completed(completionOf(response.value));
    else if (response.case === "notFound") observer?.notFound();
    else observer?.unavailable(response.case === "unavailable" ? response.value : unexpected(response).message);
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
class RoutedQuery extends RoutedRequest {
  readonly #question: () => ExchangeRequestBody;
  readonly #read: (response: ExchangeResponseBody, isRepetition: boolean) => void;
  readonly #reject: (error: PerdureError) => void;
  /** Whether a leader may have carried out the request before its answer was lost. */
  #isRepetition = false;
  /** It must not be carried out twice. */
  isOnce = false;

  constructor(
    router: RequestRouter,
    id: InvocationId,
    question: () => ExchangeRequestBody,
    read: (response: ExchangeResponseBody, isRepetition: boolean) => void,
    reject: (error: PerdureError) => void,
  ) {
    super(router, id);
    this.#question = question;
    this.#read = read;
    this.#reject = reject;
  }

  protected requestBody(): ExchangeRequestBody {
    return this.#question();
  }

  protected received(response: ExchangeResponseBody): boolean {
    if (response.case === "unavailable") this.failed(response.value);
    else this.#read(response, this.#isRepetition);
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
const OWN_EFFECTS: {
  readonly [kind in PartitionCommand["kind"]]?: { readonly [kind in CommandAnswer["kind"]]?: CommandAnswer };
} = {
  kill: { alreadyCompleted: { kind: "done" }, notFound: { kind: "done" } },
  cancel: { alreadyCompleted: { kind: "pending" }, notFound: { kind: "done" } },
  resume: { alreadyCompleted: { kind: "done" } },
  purge: { notFound: { kind: "done" } },
};

function completionOf({ outcome, expiresAtMs }: CompletedResponse): Completion {
  return { outcome: decodeOutcome(outcome), expiresAtMs };
}

function unexpected(response: ExchangeResponseBody): PerdureError {
  return new PerdureError("OPS0003", `a leader answered '${response.case}' where that is no answer`);
}
