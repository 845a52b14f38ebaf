/** Makes request ids for the gateway's log, the runtime's journal and the answer to the caller: ULIDs, sorted by time. */
import { type Clock, present, type Random } from "@perdure/base";

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_CHARS = 10;
/** Characters that identify the process; the rest of the 80 bits is a counter. */
const OWN_CHARS = 8;
const COUNT_CHARS = 8;
const COUNT_MAX = 32 ** COUNT_CHARS;

export class RequestIds {
  readonly #clock: Clock;
  readonly #own: string;
  #count: number;
  #timeMs = -1;
  #prefix = "";

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#own = base32(random.uint32() * 256 + (random.uint32() % 256), OWN_CHARS);
    this.#count = random.uint32();
  }

  /** Name of this run of the process. */
  get own(): string {
    return this.#own;
  }

  next(): string {
    const nowMs = this.#clock.nowMs();
    if (nowMs !== this.#timeMs) {
      this.#timeMs = nowMs;
      this.#prefix = base32(nowMs, TIME_CHARS) + this.#own;
    }
    this.#count = (this.#count + 1) % COUNT_MAX;
    return this.#prefix + base32(this.#count, COUNT_CHARS);
  }
}

function base32(value: number, chars: number): string {
  let text = "";
  for (let rest = value, n = 0; n < chars; n++) {
    text = present(CROCKFORD[rest % 32]) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
