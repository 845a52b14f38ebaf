/**
 * Retries requests while Redis is unavailable (restart, fail-over, broken network), until there is an answer or the timeout ends.
 * Everything that this driver sends may be repeated: reads, claims (which only raise the epoch), and commits, which carry their number.
 */
import { Backoff, type Clock, PerdureError, pause, present, type Random } from "@perdure/base";
import type { RedisRequest } from "./folding.js";
import { RETRY_BOUNDS } from "./limits.js";
import { type CommandReply, LinkDown, type RedisLink } from "./link.js";

interface RedisRequestOptions {
  /** Replicas must have the writes before the request resolves. */
  readonly replicated?: boolean;
  /** Overrides the timeout of the connection. */
  readonly timeoutMs?: number;
}

/** Error replies of a server that is starting, failing over, cut off from its cluster or full for the moment. */
const PASSING = /^(LOADING|BUSY|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|NOREPLICAS|UNBLOCKED|MOVED|ASK|MISCONF|OOM)\b/;
const FULL = /^OOM\b/;
const UNKNOWN_SCRIPT = /^NOSCRIPT\b/;

export class RedisRequester {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #replicas: number;
  readonly #random: Random | undefined;

  constructor(link: RedisLink, clock: Clock, timeoutMs: number, replicas: number, random?: Random) {
    this.#link = link;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#replicas = replicas;
    this.#random = random;
  }

  /**
   * Sends the requests, whose keys are in one slot, until each has an answer: a value, or an error that a retry would not change. Rejects
   * with STO0001 when no answer came in time, STO0004 when Redis is full.
   */
  async request(requests: readonly RedisRequest[], options: RedisRequestOptions = {}): Promise<readonly CommandReply[]> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const deadline = this.#clock.monotonicMs() + timeoutMs;
    const backoff = new Backoff(RETRY_BOUNDS, this.#random);
    let withText = false;
    for (;;) {
      const replies = await this.#link.send(requests, withText, options.replicated === true);
      const error = this.#retryableError(replies, requests.length);
      if (error === undefined) return replies;
      if (UNKNOWN_SCRIPT.test(error.message) && !withText) {
        withText = true;
        continue;
      }
      const waitMs = backoff.next();
      if (this.#clock.monotonicMs() + waitMs > deadline) {
        const code = FULL.test(error.message) ? "STO0004" : "STO0001";
        throw new PerdureError(code, `Redis gave no answer in ${timeoutMs} ms: ${error.message}`, { cause: error });
      }
      await pause(this.#clock, waitMs);
    }
  }

  /** One request; error replies reject as STO0003 or STO0001. */
  async one(request: RedisRequest, options?: RedisRequestOptions): Promise<Exclude<CommandReply, Error>> {
    const [reply] = await this.request([request], options);
    return answer(present(reply));
  }

  /** The reason why the replies must be requested again; undefined when they are final. */
  #retryableError(replies: readonly CommandReply[], count: number): Error | undefined {
    for (const reply of replies) {
      if (reply instanceof LinkDown) return reply;
      if (reply instanceof Error && (PASSING.test(reply.message) || UNKNOWN_SCRIPT.test(reply.message))) return reply;
    }
    if (replies.length > count) {
      const reached = replies[count];
      if (typeof reached !== "number" || reached < this.#replicas)
        return new Error(`${String(reached)} of ${this.#replicas} replicas have what was written`);
    }
    return undefined;
  }
}

/** A reply that is not an error. */
export function answer(reply: CommandReply): Exclude<CommandReply, Error> {
  if (!(reply instanceof Error)) return reply;
  const damaged = /^(WRONGTYPE|PERDURE|ERR user_script)/.test(reply.message);
  throw new PerdureError(damaged ? "STO0003" : "STO0001", `Redis refuses: ${reply.message}`, { cause: reply });
}
