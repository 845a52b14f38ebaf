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
import { type Clock, type InvocationId, partitionOf, type TimerHandle } from "@perdure/base";
import type { Completion, Courier, Delivery, Detach, InvokeObserver, Partitions } from "@perdure/control";
import { type CommandAnswer, expiresAtMs, type Invocation, type Invoke, type PartitionCommand } from "@perdure/state-machine";
import { decodeAnswer, decodeOptionalInvocation } from "./codec/answers.js";
import { encodeStoredCommand, isManagementCommand } from "./codec/commands.js";
import type { ExchangeResponseBody } from "./codec/exchange.js";
import type { LeaderDirectory } from "./leadership.js";
import { LEADER_WAIT_MS, LEADERLESS_MAX, REROUTE_MS } from "./limits.js";
import type { OpenExchange, WorkerLink, WorkerRequest } from "./link.js";
import {
  NO_LEADER,
  OVERLOADED,
  OWN_EFFECTS,
  type RequestRouter,
  RoutedAttach,
  RoutedInvoke,
  RoutedQuery,
  type RoutedRequest,
  unexpected,
} from "./routed-requests.js";
import { decodeAnswerV01 } from "./v01/exchange.js";

interface RemotePartitionsPorts {
  readonly directory: LeaderDirectory;
  /** The one link to a worker; made when it is first needed. */
  readonly link: (address: string) => WorkerLink;
  readonly clock: Clock;
}

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
    const described = Promise.withResolvers<Invocation | undefined>();
    const read = (response: ExchangeResponseBody): Invocation | undefined => {
      if (response.case !== "invocation") throw unexpected(response);
      return decodeOptionalInvocation(response.value);
    };
    this.#send(new RoutedQuery(this.#router, id, { case: "describe", value: id }, read, described));
    return described.promise;
  }

  submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer> {
    const question: WorkerRequest = isManagementCommand(command)
      ? { case: "manage", value: command }
      : { case: "submit", value: encodeStoredCommand(command) };
    const answered = Promise.withResolvers<CommandAnswer>();
    const read = (response: ExchangeResponseBody, isRepetition: boolean): CommandAnswer => {
      const answer = answerIn(response);
      return (isRepetition ? OWN_EFFECTS[command.kind]?.[answer.kind] : undefined) ?? answer;
    };
    const routed = new RoutedQuery(this.#router, command.id, question, read, answered);
    routed.isOnce = command.kind === "mutateState" && command.expectedVersion === undefined;
    this.#send(routed);
    return answered.promise;
  }

  /**
   * Sends an outbox message. Calls `delivered` when the receiver has stored it, `undelivered` when the attempt failed; the sending
   * partition decides when to retry, so that messages of one producer keep their order.
   */
  deliver({ command, producer, seq, after }: Delivery, delivered: () => void, undelivered: () => void): void {
    const message = { producer, seq, command: encodeStoredCommand(command), after };
    const leader = this.#leaderOf(command.id);
    const pending: OpenExchange = {
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

  /** Returns requests to this class when a leader refuses or finishes them. */
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

function answerIn(response: ExchangeResponseBody): CommandAnswer {
  if (response.case === "commandAnswer") return decodeAnswer(response.value);
  if (response.case === "answer") return decodeAnswerV01(response.value);
  throw unexpected(response);
}
