/**
 * Fair shares of what attempts may submit to their partition between two commits, so that a batch stays small when one handler submits
 * much: every call of another service waits for two or three batches, whichever service filled them.
 *
 * An attempt that does little between two commits, as nearly all do, spends from its service's share and never waits. An attempt with
 * more work stops reading its stream and takes turns: services with each other, and the attempts of a service among themselves (deficit
 * round robin). Indivisible work, e.g. a frame of a megabyte, may overdraw the share, and the service waits until later commits have paid
 * for it. Backpressure on the stream does the rest. A service that is alone may fill whole batches.
 */
import { Ring } from "@perdure/base";
import { SERVICE_SHARES_MAX } from "./limits.js";

export interface ShareLimits {
  /** Units of all services between two commits when several are active. */
  readonly sharedUnits: number;
  /** Units of a service that is the only active one. */
  readonly aloneUnits: number;
  /** Minimum that each service may spend, however many services share. */
  readonly serviceUnitsMin: number;
  /** Units of a service until the next one's turn. */
  readonly serviceTurnUnits: number;
  /** Units of one member until the next one of its service. */
  readonly memberTurnUnits: number;
  /** Commits for which a service counts as active after it spent units. */
  readonly epochsAtWork: number;
}

/** A member that waits for its turn. */
export interface ShareMember {
  /** Works for about `units`; returns how many units were used, which the caller counts. */
  serve(units: number): number;
  /** The member has more work. Read after `serve`; a member that returns false is removed. */
  readonly isWaiting: boolean;
}

/** Consumption of one service since the last commit. */
export interface ServiceShare {
  readonly service: string;
  /** The epoch in which the service spent last. */
  epoch: number;
  /** Units spent in this epoch, including units overdrawn before. */
  spent: number;
  /** Members that wait; created when first needed. */
  waiting: Ring<ShareMember> | undefined;
  /** The service is in the round. */
  isQueued: boolean;
}

export class FairShares {
  readonly #limits: ShareLimits;
  readonly #whenDurable: (callback: () => void) => void;
  readonly #services = new Map<string, ServiceShare>();
  /** Services with waiting members, each once, in the order of their turns. */
  readonly #turns = new Ring<ServiceShare>();
  /** Number of commits that followed some spending. */
  #epoch = 1;
  #isEpochEnding = false;
  /** Services that spent in this epoch. */
  #active = 0;
  /** Services among which the units are divided, until `#sharersUntil`. */
  #sharers = 1;
  #sharersUntil = 0;

  /** @param whenDurable calls its argument once everything submitted before is durable */
  constructor(limits: ShareLimits, whenDurable: (callback: () => void) => void) {
    this.#limits = limits;
    this.#whenDurable = whenDurable;
  }

  serviceShare(service: string): ServiceShare {
    let share = this.#services.get(service);
    if (share === undefined) {
      if (this.#services.size >= SERVICE_SHARES_MAX) this.#dropIdle();
      share = { service, epoch: 0, spent: 0, waiting: undefined, isQueued: false };
      this.#services.set(service, share);
    }
    return share;
  }

  /**
   * Services come and go with deployments. Attempts keep a reference to their share, so the share of an active service is counted anew
   * once.
   */
  #dropIdle(): void {
    for (const [service, { isQueued }] of this.#services) if (!isQueued) this.#services.delete(service);
  }

  /** Number of services that are remembered; used by tests. */
  get size(): number {
    return this.#services.size;
  }

  /** Number of commits, so that members can count their own share. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Units that the service may spend now without taking turns; when 0 or less, a member must call `wait`. */
  allowance(service: ServiceShare): number {
    const limit = this.#serviceLimit();
    if (service.epoch === this.#epoch) return limit - service.spent;
    return limit - Math.max(0, service.spent - limit * (this.#epoch - service.epoch));
  }

  spend(service: ServiceShare, units: number): void {
    if (service.epoch !== this.#epoch) {
      service.spent = Math.max(0, service.spent - this.#serviceLimit() * (this.#epoch - service.epoch));
      service.epoch = this.#epoch;
      this.#countActive();
    }
    service.spent += units;
    this.#endEpoch();
  }

  /** Calls `member.serve` at its turns until the member has no more work. */
  wait(service: ServiceShare, member: ShareMember): void {
    service.waiting ??= new Ring();
    service.waiting.push(member);
    if (!service.isQueued) {
      service.isQueued = true;
      this.#turns.push(service);
    }
    this.#endEpoch();
  }

  #serviceLimit(): number {
    const { aloneUnits, sharedUnits, serviceUnitsMin } = this.#limits;
    return this.#sharers <= 1 ? aloneUnits : Math.max(serviceUnitsMin, Math.floor(sharedUnits / this.#sharers));
  }

  #countActive(): void {
    this.#active++;
    if (this.#active < this.#sharers) return;
    this.#sharers = this.#active;
    this.#sharersUntil = this.#epoch + this.#limits.epochsAtWork;
  }

  /** The epoch ends with the next commit, or at once when there is nothing to commit. */
  #endEpoch(): void {
    if (this.#isEpochEnding) return;
    this.#isEpochEnding = true;
    this.#whenDurable(this.#epochEnded);
  }

  readonly #epochEnded = (): void => {
    this.#epoch++;
    this.#isEpochEnding = false;
    if (this.#epoch > this.#sharersUntil) this.#sharers = Math.max(1, this.#active);
    this.#active = 0;
    try {
      this.#takeTurns();
    } finally {
      if (this.#turns.length > 0) this.#endEpoch();
    }
  };

  #takeTurns(): void {
    // Services that overdrew wait for later epochs: the round ends when no service that is left may spend.
    for (let refused = 0; refused < this.#turns.length; ) {
      const service = this.#turns.shift()!;
      const units = Math.min(this.allowance(service), this.#limits.serviceTurnUnits);
      refused = units <= 0 ? refused + 1 : 0;
      try {
        if (units > 0) this.#serve(service, service.waiting!, units);
      } finally {
        service.isQueued = service.waiting!.length > 0;
        if (service.isQueued) this.#turns.push(service);
      }
    }
  }

  #serve(service: ServiceShare, waiting: Ring<ShareMember>, units: number): void {
    for (let left = units; left > 0; ) {
      const member = waiting.shift();
      if (member === undefined) return;
      // At least one unit: a member without work must not extend the turn without end.
      const used = Math.max(1, member.serve(Math.min(left, this.#limits.memberTurnUnits)));
      this.spend(service, used);
      left -= used;
      if (member.isWaiting) waiting.push(member);
    }
  }
}
