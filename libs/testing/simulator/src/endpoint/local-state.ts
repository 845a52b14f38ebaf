/** State as an SDK has it: what came with Start and what the handler has changed since; other keys are requested. */
import { fromBinaryString, fromUtf8, toBinaryString, utf8 } from "@perdure/base";
import { MessageType, type StartMessage } from "@perdure/service-protocol";
import type { Conversation } from "./conversation.js";
import type { ProgramRequest } from "./program-progress.js";

type HandlerScript<T> = Generator<ProgramRequest, T, void>;

export class LocalState {
  readonly #conversation: Conversation;
  /** Cached values by binary string; null: absent. */
  readonly #cached = new Map<string, Uint8Array | null>();
  #complete: boolean;

  constructor(conversation: Conversation, start: StartMessage) {
    this.#conversation = conversation;
    this.#complete = !start.partialState;
    for (const { key, value } of start.state) this.#cached.set(toBinaryString(key), value);
  }

  *get(key: string): HandlerScript<Uint8Array | undefined> {
    const stateKey = utf8(key);
    const cached = this.#cached.get(toBinaryString(stateKey));
    // The journal determines how it was read, whatever is cached this time.
    const replayed = this.#conversation.nextReplayed;
    const eager = replayed === undefined ? cached !== undefined || this.#complete : replayed === MessageType.GetEagerState;
    if (eager) {
      const result =
        cached === undefined || cached === null ? ({ kind: "void" } as const) : ({ kind: "value", value: cached } as const);
      const stored = this.#conversation.command({ kind: "getEagerState", stateKey, result, name: "" }, false);
      return stored.result.kind === "value" ? stored.result.value : undefined;
    }
    const completionId = this.#conversation.nextCompletionId();
    this.#conversation.command({ kind: "getLazyState", stateKey, resultCompletionId: completionId, name: "" });
    yield { kind: "wait", future: waitFor(completionId), deaf: false };
    const { result } = this.#conversation.consumedNotification({ kind: "completion", id: completionId }) ?? {
      result: { kind: "void" } as const,
    };
    const value = result.kind === "value" ? result.value : undefined;
    if (!this.#conversation.replaying) this.#cached.set(toBinaryString(stateKey), value ?? null);
    return value;
  }

  *keys(): HandlerScript<string[]> {
    const replayed = this.#conversation.nextReplayed;
    if (replayed === undefined ? this.#complete : replayed === MessageType.GetEagerStateKeys) {
      const stateKeys = [...this.#cached].filter(([, value]) => value !== null).map(([key]) => fromBinaryString(key));
      const stored = this.#conversation.command({ kind: "getEagerStateKeys", stateKeys, name: "" }, false);
      return stored.stateKeys.map(fromUtf8).sort();
    }
    const completionId = this.#conversation.nextCompletionId();
    this.#conversation.command({ kind: "getLazyStateKeys", resultCompletionId: completionId, name: "" });
    yield { kind: "wait", future: waitFor(completionId), deaf: false };
    const { result } = this.#conversation.consumedNotification({ kind: "completion", id: completionId }) ?? {
      result: { kind: "void" } as const,
    };
    return result.kind === "stateKeys" ? result.stateKeys.map(fromUtf8).sort() : [];
  }

  set(key: string, value: Uint8Array): void {
    const stateKey = utf8(key);
    this.#conversation.command({ kind: "setState", stateKey, value, name: "" });
    this.#cached.set(toBinaryString(stateKey), value);
  }

  clear(key: string): void {
    const stateKey = utf8(key);
    this.#conversation.command({ kind: "clearState", stateKey, name: "" });
    this.#cached.set(toBinaryString(stateKey), null);
  }

  clearAll(): void {
    this.#conversation.command({ kind: "clearAllState", name: "" });
    this.#cached.clear();
    this.#complete = true;
  }
}

function waitFor(completionId: number) {
  return { completions: [completionId], signalIndexes: [], signalNames: [], nested: [], combinator: "firstCompleted" } as const;
}
