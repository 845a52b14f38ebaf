/**
 * Folds calls of one script into one command (`scripts.ts`): a worker leads many partitions, and each has a script to send when a turn of
 * the event loop ends. In a cluster their keys are in different slots, and nothing is folded.
 */
import { invariant, present } from "@perdure/base";
import { FOLDED_BYTES_MAX, FOLDED_CALLS_MAX } from "./limits.js";
import type { CommandReply, RedisCommand } from "./link.js";
import type { RedisScript } from "./scripts.js";

/** A script, its keys and arguments; sent by its hash, and with its text when Redis does not have the script. */
export interface ScriptCall {
  readonly script: RedisScript;
  readonly keys: readonly string[];
  readonly args: readonly (string | Buffer | number)[];
}

export type RedisRequest = RedisCommand | ScriptCall;

/** Calls of one script. */
interface Fold {
  /** Place of its command. */
  readonly at: number;
  readonly script: RedisScript;
  readonly withText: boolean;
  readonly keys: string[];
  readonly args: (string | Buffer | number)[];
  calls: number;
  bytes: number;
}

/** The commands for a list of requests, and which part of the replies belongs to which request. */
export class Folding {
  readonly #folds: Fold[] = [];
  readonly #commands: (RedisCommand | Fold)[] = [];
  /** Index of the command of each request. `#within` has the index of its call in that command; -1: the command has this request alone. */
  readonly #at: number[] = [];
  readonly #within: number[] = [];
  readonly #callsMax: number;

  /** Without `folds` every call is a command of its own. */
  constructor(folds: boolean) {
    this.#callsMax = folds ? FOLDED_CALLS_MAX : 1;
  }

  /** `mayMove`: nothing sent before it on this connection needs to be carried out before. */
  add(request: RedisRequest, withText: boolean, mayMove: boolean): void {
    if (!("script" in request)) {
      this.#within.push(-1);
      this.#at.push(this.#commands.push(request) - 1);
      return;
    }
    const { script, keys, args } = request;
    const bytes = sizeOf(args);
    const fold = (mayMove ? this.#withCapacity(script, withText, bytes) : undefined) ?? this.#open(script, withText);
    for (const key of keys) fold.keys.push(key);
    for (const argument of args) fold.args.push(argument);
    fold.bytes += bytes;
    this.#at.push(fold.at);
    this.#within.push(fold.calls++);
  }

  #withCapacity(script: RedisScript, withText: boolean, bytes: number): Fold | undefined {
    for (const fold of this.#folds) {
      if (
        fold.script === script &&
        fold.withText === withText &&
        fold.calls < this.#callsMax &&
        fold.bytes + bytes <= FOLDED_BYTES_MAX
      )
        return fold;
    }
    return undefined;
  }

  #open(script: RedisScript, withText: boolean): Fold {
    const fold: Fold = { at: this.#commands.length, script, withText, keys: [], args: [], calls: 0, bytes: 0 };
    this.#folds.push(fold);
    this.#commands.push(fold);
    return fold;
  }

  get commandCount(): number {
    return this.#commands.length;
  }

  commands(): readonly RedisCommand[] {
    return this.#commands.map((command) => {
      if (!("calls" in command)) return command;
      const { script, withText, keys, args } = command;
      return [withText ? "EVAL" : "EVALSHA", withText ? script.text : script.sha, keys.length, ...keys, ...args];
    });
  }

  /** The reply to the nth request, among those to the commands. */
  replyTo(n: number, replies: readonly CommandReply[]): CommandReply {
    const reply = present(replies[present(this.#at[n])]);
    const within = present(this.#within[n]);
    if (within < 0 || reply instanceof Error) return reply;
    invariant(Array.isArray(reply), "a script replies with a list");
    return reply[within] as CommandReply;
  }
}

export function sizeOf(command: readonly (string | Buffer | number)[]): number {
  let bytes = 0;
  for (const argument of command) bytes += typeof argument === "number" ? 8 : argument.length;
  return bytes;
}
