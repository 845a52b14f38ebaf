/**
 * The programs of simulated handlers. A program is data: it is the input of the invocation, so every attempt reads the same one from
 * the journal, and a callee's program is part of its caller's.
 */
import type { AttachTarget } from "@perdure/service-protocol";

/** The handler to call; the interpreter has no other information about services. */
export interface CalledHandler {
  readonly service: "S" | "O" | "W";
  readonly handler: string;
  /** "" for the plain service, "=" for the caller's own key. */
  readonly key: string;
}

/** Operations of a program; results of `later` ones are awaited by a following `join`. */
export type ProgramOperation =
  /** A side effect with a result that differs each time it runs. */
  | { readonly op: "run"; readonly ms: number; readonly fails: boolean; readonly later: boolean }
  | { readonly op: "sleep"; readonly ms: number; readonly later: boolean }
  | {
      readonly op: "call";
      readonly to: CalledHandler;
      readonly program: HandlerProgram;
      readonly idempotencyKey: string | undefined;
      readonly later: boolean;
    }
  | { readonly op: "send"; readonly to: CalledHandler; readonly program: HandlerProgram; readonly delayMs: number }
  /** Reads a counter and writes it back with one more; exclusive handlers only. */
  | { readonly op: "count"; readonly counter: string }
  | { readonly op: "get"; readonly key: string }
  | { readonly op: "set"; readonly key: string }
  | { readonly op: "clear"; readonly key: string }
  | { readonly op: "clearAll" }
  | { readonly op: "keys" }
  /** A signal that an external client (`by` "outside") or a callee sends when it has been given the id. */
  | { readonly op: "awakeable"; readonly by: "outside" | "callee"; readonly later: boolean }
  | { readonly op: "namedSignal"; readonly name: string; readonly later: boolean }
  /** Completes the awakeable, or sends the named signal, that the caller passed to it. */
  | { readonly op: "tellCaller" }
  /** `helped`: first sends an invocation that completes it. */
  | { readonly op: "getPromise"; readonly name: string; readonly helped: boolean; readonly later: boolean }
  | { readonly op: "peekPromise"; readonly name: string }
  | { readonly op: "completePromise"; readonly name: string }
  /** Attaches to the n-th invocation started so far (modulo their number). */
  | { readonly op: "attach"; readonly child: number; readonly later: boolean }
  | { readonly op: "output"; readonly child: number }
  /** Attaches to an invocation that another caller started, or requests its output. */
  | { readonly op: "attachTo"; readonly target: AttachTarget; readonly later: boolean }
  | { readonly op: "outputOf"; readonly target: AttachTarget }
  | { readonly op: "cancelChild"; readonly child: number }
  | { readonly op: "join"; readonly how: "all" | "first" | "settled" | "anySuccess" | "unknown" }
  | { readonly op: "fail" };

export interface HandlerProgram {
  readonly operations: readonly ProgramOperation[];
}

/** The input of an invocation. */
export interface Assignment {
  readonly program: HandlerProgram;
  /** Receiver of `tellCaller`: the caller's awakeable, or the caller's id and the name of a signal. */
  readonly sink: { readonly awakeable: string } | { readonly invocationId: string; readonly signal: string } | undefined;
}
