/** Records the requests and results of a simulated handler's program so far. */
import type { InvocationId } from "@perdure/base";
import type { Future, NotificationId, ValueOrFailure } from "@perdure/service-protocol";
import type { Conversation } from "./conversation.js";
import type { LocalState } from "./local-state.js";
import type { Assignment } from "./program.js";

/** Request of a program to the session that runs it. */
export type ProgramRequest =
  /** Continue when the future is resolved. `deaf`: only then, not at a cancellation. */
  | { readonly kind: "wait"; readonly future: Future; readonly deaf: boolean }
  /** Continue after this time, which user code takes. */
  | { readonly kind: "work"; readonly ms: number };

export interface HandlerContext {
  readonly id: InvocationId;
  readonly key: string;
  readonly conversation: Conversation;
  readonly state: LocalState;
  nowMs(): number;
  /** Duration of user code before its next step; mostly zero. */
  thinkingMs(): number;
  /** Returns a number that no other execution has, so that each result of a run is unique. */
  executed(): number;
  /** Proposes the result of a run that was executed just now. */
  propose(completionId: number, result: ValueOrFailure): void;
  /** Gives an awakeable to an external client, which will complete it. */
  leaveOutside(awakeable: string): void;
}

export type HandlerScript<T> = Generator<ProgramRequest, T, void>;

/** A result that is waited for later, with its name in the handler's result. */
export interface Pending {
  readonly name: string;
  readonly id: NotificationId;
}

export interface ProgramProgress {
  readonly around: HandlerContext;
  readonly assignment: Assignment;
  readonly pending: Pending[];
  /** Completion ids of the notifications with the ids of callees. */
  readonly children: number[];
  /** Those of callees that are called, not sent: they are cancelled together with their caller. */
  readonly called: number[];
  readonly observed: string[];
}
