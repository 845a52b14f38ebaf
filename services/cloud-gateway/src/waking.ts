/**
 * Why: an environment that sleeps is woken by its first caller, who should not have to come again for that. The request is held, its body
 * unread, until the runtime is up, for as long as a caller may be kept waiting (kubernetes.md §6):
 *
 *     asleep ─▸ held ─┬─▸ up: on to its turn
 *                     └─▸ too long, or too many are held: 503, reason `waking`
 */
import type { Clock, TimerHandle } from "@perdure/base";
import { bareOf, credentialsOf, type EnvironmentId, type Tenancy } from "@perdure/cloud";
import type { Environment, Environments } from "./environments.js";
import { HELD_PER_SLEEPER_MAX, HELD_TOTAL_MAX, WAKE_AGAIN_MS, WAKE_HELD_MS, WAKE_LOOK_MS } from "./limits.js";
import type { GatewayMetrics } from "./metrics.js";
import * as refusal from "./refusal.js";
import type { Forwarding, Visit } from "./visit.js";

export interface WakingPorts {
  readonly tenancy: Pick<Tenancy, "authenticate">;
  readonly clock: Clock;
  readonly environments: Pick<Environments, "again">;
  readonly metrics: GatewayMetrics | undefined;
  /** Answers instead of the runtime. */
  refuse(visit: Visit, refused: refusal.Refusal): void;
  /** The environment is up, as far as tenancy knows. */
  goOn(visit: Visit, environment: Environment): void;
}

/** One environment, from the first caller who is held until it is up or nobody waits for it any more. */
interface Wake {
  readonly id: EnvironmentId;
  readonly sinceMs: number;
  /** In the order of coming, which is that of giving up. */
  readonly held: Set<Held>;
  /** Callers for whom tenancy was asked, so that it knows who wants the environment. */
  readonly asked: Set<string>;
  askAgainAtMs: number;
  timer: TimerHandle | undefined;
}

class Held implements Forwarding {
  readonly visit: Visit;
  readonly untilMs: number;
  readonly #leave: (held: Held) => void;

  constructor(visit: Visit, untilMs: number, leave: (held: Held) => void) {
    this.visit = visit;
    this.untilMs = untilMs;
    this.#leave = leave;
  }

  drained(): void {}

  abandoned(): void {
    this.#leave(this);
  }
}

export class Waking {
  readonly #ports: WakingPorts;
  readonly #issuer: string;
  readonly #wakes = new Map<EnvironmentId, Wake>();
  #held = 0;

  /** `issuer`: the `iss` of access tokens. */
  constructor(ports: WakingPorts, issuer: string) {
    this.#ports = ports;
    this.#issuer = issuer;
  }

  /** Requests that are held. */
  get held(): number {
    return this.#held;
  }

  /** Takes an admitted visit; sooner or later it goes on, is refused, or its client leaves. */
  hold(visit: Visit, { facts }: Environment): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const known = this.#wakes.get(facts.id);
    if (this.#held >= HELD_TOTAL_MAX || (known?.held.size ?? 0) >= HELD_PER_SLEEPER_MAX) return this.#giveUp(visit);
    const wake = known ?? this.#begin(facts.id, nowMs);
    const held = new Held(visit, nowMs + WAKE_HELD_MS, (left) => this.#left(wake, left));
    wake.held.add(held);
    this.#held++;
    visit.forwarding = held;
    this.#askFor(wake, visit);
  }

  /** Whoever is still held hears that it took too long. */
  close(): void {
    for (const wake of [...this.#wakes.values()]) this.#letGo(wake, "late", (visit) => this.#giveUp(visit));
  }

  #begin(id: EnvironmentId, nowMs: number): Wake {
    const wake: Wake = {
      id,
      sinceMs: nowMs,
      held: new Set(),
      asked: new Set(),
      askAgainAtMs: nowMs + WAKE_AGAIN_MS,
      timer: undefined,
    };
    this.#wakes.set(id, wake);
    this.#arm(wake);
    return wake;
  }

  #arm(wake: Wake): void {
    wake.timer = this.#ports.clock.setTimer(WAKE_LOOK_MS, () => this.#look(wake));
  }

  #look(wake: Wake): void {
    const { clock, environments } = this.#ports;
    const nowMs = clock.monotonicMs();
    for (const held of wake.held) {
      if (held.untilMs > nowMs) break;
      if (wake.held.size === 1) return this.#letGo(wake, "late", (visit) => this.#giveUp(visit));
      wake.held.delete(held);
      this.#held--;
      this.#giveUp(held.visit);
    }
    this.#arm(wake);
    environments.again(bareOf(wake.id)).then(
      (found) => this.#found(wake, found),
      () => undefined, // Tenancy is away: the next look asks again, and whoever waits too long is told.
    );
  }

  #found(wake: Wake, found: Environment | "nobody"): void {
    if (this.#wakes.get(wake.id) !== wake) return;
    const { goOn, refuse, clock } = this.#ports;
    if (found === "nobody") return this.#letGo(wake, "gone", (visit) => refuse(visit, refusal.unknownEnvironment));
    if (found.facts.sleep === undefined) return this.#letGo(wake, "awake", (visit) => goOn(visit, found));
    const nowMs = clock.monotonicMs();
    if (found.facts.sleep === "waking" || nowMs < wake.askAgainAtMs) return;
    wake.askAgainAtMs = nowMs + WAKE_AGAIN_MS; // It did not hear us, or fell asleep again.
    wake.asked.clear();
    for (const { visit } of wake.held) this.#askFor(wake, visit);
  }

  /** Tenancy wakes those whose callers it is asked about; which callers may wake is its business. */
  #askFor(wake: Wake, { caller, head }: Visit): void {
    if (caller === undefined || wake.asked.has(caller.id)) return;
    wake.asked.add(caller.id);
    const { credential } = credentialsOf(head.rawHeaders, this.#issuer);
    if (credential === undefined) return;
    this.#ports.tenancy.authenticate(credential, wake.id).catch(() => undefined); // It is asked again.
  }

  #left(wake: Wake, held: Held): void {
    if (!wake.held.delete(held)) return;
    this.#held--;
    if (wake.held.size === 0) this.#end(wake, "abandoned");
  }

  #letGo(wake: Wake, result: "awake" | "late" | "gone", then: (visit: Visit) => void): void {
    const visits = Array.from(wake.held, ({ visit }) => visit);
    this.#held -= wake.held.size;
    wake.held.clear();
    this.#end(wake, result);
    for (const visit of visits) then(visit);
  }

  #end(wake: Wake, result: WakeResult): void {
    const { clock, metrics } = this.#ports;
    wake.timer?.cancel();
    this.#wakes.delete(wake.id);
    metrics?.woke(result, clock.monotonicMs() - wake.sinceMs);
  }

  /** It came by although it was not forwarded: tenancy hears so with the next report, and wakes for whoever may only read, too. */
  #giveUp(visit: Visit): void {
    const totals = visit.environment?.state.totals;
    if (totals !== undefined) totals[visit.door === "ingress" ? "ingressRequests" : "adminRequests"]++;
    this.#ports.refuse(visit, refusal.waking);
  }
}

export const wakeResults = ["awake", "late", "abandoned", "gone"] as const;
/** `late`: everybody was told to come again. `abandoned`: all who waited left. `gone`: it was deleted meanwhile. */
export type WakeResult = (typeof wakeResults)[number];
