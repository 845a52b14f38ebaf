/**
 * The SDK's part of one attempt: reads the journal it is given, compares its commands with what the handler does on replay, sends new
 * ones, and records the order of completions. A handler may read only completions that it has waited for, in that order, so that a
 * later attempt decides the same.
 */
import { bytesEqual } from "@perdure/base";
import {
  cancelSignalIndex,
  commandTypeOf,
  decodeCommand,
  decodeNotification,
  encodeCommand,
  evaluateFuture,
  type Future,
  isCommand,
  isFault,
  type JournalCommand,
  type LeafOutcome,
  messageTypeName,
  type NotificationId,
  type NotificationResult,
  notificationOutcomeOf,
} from "@perdure/service-protocol";

/** The handler was cancelled while it waited. */
export class Cancelled extends Error {}

export interface ReceivedNotification {
  readonly id: NotificationId;
  readonly outcome: LeafOutcome;
  readonly result: NotificationResult;
}

export interface ConversationPorts {
  send(type: number, body: Uint8Array, flags?: number): void;
  /** The journal does not hold what the handler does on replay: it was changed, or replayed out of order. */
  mismatch(detail: string): void;
  /** The journal was copied from another invocation, so ids of its own invocation in commands are those of the other. */
  readonly copied: boolean;
}

export class Conversation {
  readonly #ports: ConversationPorts;
  readonly #commands: { readonly type: number; readonly body: Uint8Array }[] = [];
  #replayed = 0;
  readonly #received: ReceivedNotification[] = [];
  /** Number of entries of `#received` that the handler has waited for. */
  #consumed = 0;
  #consumedCancels = 0;
  #completionId = 0;
  #signalIndex = 16;

  constructor(ports: ConversationPorts) {
    this.#ports = ports;
  }

  /** Receives an entry of the journal, or a notification pushed later. */
  receive(type: number, body: Uint8Array): void {
    if (isCommand(type)) {
      this.#commands.push({ type, body });
      return;
    }
    const notification = decodeNotification(type, body);
    if (isFault(notification)) return this.#ports.mismatch(`an unreadable notification: ${notification.detail}`);
    this.#received.push({ id: notification.id, outcome: notificationOutcomeOf(body), result: notification.result });
  }

  /** Receives an ack, which stands for the completion that it is about. */
  receiveOwnResult(completionId: number, result: NotificationResult): void {
    this.#received.push({
      id: { kind: "completion", id: completionId },
      outcome: result.kind === "failure" ? "failure" : "success",
      result,
    });
  }

  nextCompletionId(): number {
    return ++this.#completionId;
  }

  nextSignalIndex(): number {
    return ++this.#signalIndex;
  }

  /** Returns the Input, the first entry of every journal. */
  input(): Uint8Array {
    const first = this.#commands[this.#replayed++];
    const command = first === undefined ? undefined : decodeCommand(first.type, first.body);
    if (command === undefined || isFault(command) || command.kind !== "input") {
      this.#ports.mismatch("a journal begins with its Input");
      return new Uint8Array(0);
    }
    return command.value;
  }

  /** Number of commands of the handler, replayed ones and the Input included. */
  get commandCount(): number {
    return this.#commands.length;
  }

  get replaying(): boolean {
    return this.#replayed < this.#commands.length;
  }

  /** Type of the next command of the journal; undefined at its end. */
  get nextReplayed(): number | undefined {
    return this.#commands[this.#replayed]?.type;
  }

  /**
   * Replays a command, or makes it for the first time. Returns it as the journal has it.
   *
   * @param exact false where the handler cannot produce the same bytes again, such as a time
   */
  command<C extends JournalCommand>(command: C, exact = true, flags = 0): C {
    const type = commandTypeOf[command.kind];
    const body = encodeCommand(command);
    const old = this.#commands[this.#replayed];
    if (old === undefined) {
      this.#replayed++;
      this.#commands.push({ type, body });
      this.#ports.send(type, body, flags);
      return command;
    }
    this.#replayed++;
    const same = old.type === type && (!exact || this.#ports.copied || bytesEqual(old.body, body));
    if (!same)
      this.#ports.mismatch(
        `command ${this.#replayed - 1} is ${messageTypeName(old.type)}, the handler did ${messageTypeName(type)}`,
      );
    const decoded = decodeCommand(old.type, old.body);
    return isFault(decoded) || decoded.kind !== command.kind ? command : (decoded as C);
  }

  /** Whether a completion has arrived, waited for or not; used only to decide what need not be done again. */
  has(completionId: number): boolean {
    return this.#received.some(({ id }) => id.kind === "completion" && id.id === completionId);
  }

  /** Returns the notification, if the handler has waited long enough to read it. */
  consumedNotification(id: NotificationId): ReceivedNotification | undefined {
    for (let n = 0; n < this.#consumed; n++) {
      const notification = this.#received[n] as ReceivedNotification;
      if (sameId(notification.id, id)) return notification;
    }
    return undefined;
  }

  /**
   * Whether the future is resolved by the notifications in the order of their arrival. Throws `Cancelled` when the cancellation came
   * first, unless `deaf`.
   */
  resolved(future: Future, deaf: boolean): boolean {
    let cancels = 0;
    for (let n = 0; n <= this.#received.length; n++) {
      const done = evaluateFuture(future, (id) => this.#among(n, id)).kind === "resolved";
      if (done) {
        this.#consumed = Math.max(this.#consumed, n);
        return true;
      }
      const next = this.#received[n];
      if (next === undefined || !isCancel(next.id) || ++cancels <= this.#consumedCancels || deaf) continue;
      this.#consumedCancels = cancels;
      this.#consumed = Math.max(this.#consumed, n + 1);
      throw new Cancelled();
    }
    return false;
  }

  /** The part of the future that is still to wait for. */
  remaining(future: Future): Future {
    const evaluation = evaluateFuture(future, (id) => this.#among(this.#received.length, id));
    return evaluation.kind === "pending" ? evaluation.remaining : future;
  }

  /** Returns the outcome of the first of `count` notifications that has the id; later ones with the same id do not count. */
  #among(count: number, id: NotificationId): LeafOutcome | undefined {
    for (let n = 0; n < count; n++) {
      const notification = this.#received[n] as ReceivedNotification;
      if (sameId(notification.id, id)) return notification.outcome;
    }
    return undefined;
  }
}

function isCancel(id: NotificationId): boolean {
  return id.kind === "signalIndex" && id.index === cancelSignalIndex;
}

function sameId(a: NotificationId, b: NotificationId): boolean {
  switch (a.kind) {
    case "completion":
      return b.kind === "completion" && a.id === b.id;
    case "signalIndex":
      return b.kind === "signalIndex" && a.index === b.index;
    case "signalName":
      return b.kind === "signalName" && a.name === b.name;
  }
}
