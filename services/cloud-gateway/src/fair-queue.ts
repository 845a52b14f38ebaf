/**
 * Shares one event loop fairly among environments. The kernel hands requests over in the order of arrival, so hundreds of requests of one
 * tenant would all be forwarded before a neighbour's request that was read after them. So admitted requests are forwarded in turns of the
 * event loop, a bounded number in each: at once while this turn has capacity left and no line waits, otherwise from one line per environment,
 * round robin (deficit round robin, Shreedhar and Varghese 1995). A single request waits at most one turn and one round,
 * however long the lines of other environments are.
 */
import { present, Ring } from "@perdure/base";
import { FORWARDS_PER_TURN, LINE_MAX } from "./limits.js";

interface QueuedItem<T> {
  readonly item: T;
  readonly cost: number;
}

/** The line of one environment. */
export class FairQueueLine<T> {
  readonly waiting = new Ring<QueuedItem<T>>();
  /** The cost that the line may still spend in this round. */
  credit = 0;
  isInRound = false;
}

type Entered = "served" | "waits" | "full";

interface FairQueuePorts<T> {
  readonly serve: (item: T) => void;
  /** Calls back in the next turn of the event loop, after everything that arrives until then. */
  readonly nextTurn: (turn: () => void) => void;
}

export class FairQueue<T> {
  readonly #serve: (item: T) => void;
  readonly #nextTurn: (turn: () => void) => void;
  readonly #lineMax: number;
  /** Lines with waiting items, in the order of their turns. */
  readonly #round = new Ring<FairQueueLine<T>>();
  #left = FORWARDS_PER_TURN;
  #isArmed = false;
  #waiting = 0;

  constructor({ serve, nextTurn }: FairQueuePorts<T>, lineMax = LINE_MAX) {
    this.#serve = serve;
    this.#nextTurn = nextTurn;
    this.#lineMax = lineMax;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** `cost`: 1 to FORWARDS_PER_TURN. `served`: the item was served before this returns; `full`: it was not kept. */
  enter(line: FairQueueLine<T>, item: T, cost: number): Entered {
    if (this.#round.length === 0 && this.#left >= cost) {
      this.#left -= cost;
      this.#arm();
      this.#serve(item);
      return "served";
    }
    if (line.waiting.length >= this.#lineMax) return "full";
    line.waiting.push({ item, cost });
    this.#waiting++;
    if (!line.isInRound) {
      line.isInRound = true;
      this.#round.push(line);
    }
    this.#arm();
    return "waits";
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isArmed = false;
    this.#left = FORWARDS_PER_TURN;
    while (this.#left > 0 && this.#round.length > 0) this.#serveLine(present(this.#round.shift()));
    if (this.#round.length > 0 || this.#left < FORWARDS_PER_TURN) this.#arm();
  };

  #serveLine(line: FairQueueLine<T>): void {
    line.credit++;
    for (let next = line.waiting.peek(); next !== undefined && next.cost <= line.credit; next = line.waiting.peek()) {
      line.waiting.shift();
      line.credit -= next.cost;
      this.#left -= next.cost;
      this.#waiting--;
      this.#serve(next.item);
    }
    if (line.waiting.length > 0) {
      this.#round.push(line);
    } else {
      line.credit = 0; // An empty line saves no credit.
      line.isInRound = false;
    }
  }
}
