/** Adds old timers to pages: timers fire at least once, so a page may hold one that was read before, and has fired since. */
import type { TimerKey } from "@perdure/state-machine";
import type { SimulatedWorld } from "../world.js";

/** Maximum number of old timers kept per name that the caller gives to a partition and group. */
const REMEMBERED_MAX = 50;

export class OldTimers {
  readonly #world: SimulatedWorld;
  readonly #read = new Map<string, TimerKey[]>();

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  /** The page from `fromMs` on with perhaps one old timer in front; `limit` is the requested number. */
  among(name: string, page: readonly TimerKey[], fromMs: number, limit: number): readonly TimerKey[] {
    const { scheduler, settings } = this.#world;
    if (settings.crowd === undefined) return page;
    const before = this.#read.get(name) ?? [];
    this.#read.set(name, [...page, ...before].slice(0, REMEMBERED_MAX));
    const old = before.filter(({ dueAtMs }) => dueAtMs <= fromMs);
    if (old.length === 0 || page.length >= limit || !scheduler.random.chance(settings.crowd.timerAgain)) return page;
    return [scheduler.random.pick(old), ...page];
  }
}
