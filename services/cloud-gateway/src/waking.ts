/**
 * Wakes hibernated environments. The first request to such an environment wakes it, and is held, with its body unread, until the runtime
 * is up, for as long as a caller may be kept waiting (kubernetes.md §6):
 *
 * asleep ─▸ held ─┬─▸ up: on to its turn
 * └─▸ too long, or too many are held: 503, reason `waking`
 */
import type { Clock, TimerHandle } from "@perdure/base";
import { bareOf, credentialsOf, type EnvironmentId, type Tenancy } from "@perdure/cloud";
import type { GatewayEnvironment, GatewayEnvironments } from "./environments.js";
import type { Forwarding, GatewayRequest } from "./gateway-request.js";
import { HELD_PER_ENVIRONMENT_MAX, HELD_TOTAL_MAX, WAKE_AGAIN_MS, WAKE_HELD_MS, WAKE_POLL_MS } from "./limits.js";
import type { GatewayMetrics } from "./metrics.js";
import * as refusal from "./refusal.js";

interface WakingPorts {
  readonly tenancy: Pick<Tenancy, "authenticate">;
  readonly clock: Clock;
  readonly environments: Pick<GatewayEnvironments, "again">;
  readonly metrics: GatewayMetrics | undefined;
  /** Answers instead of the runtime. */
  refuse(request: GatewayRequest, refused: refusal.GatewayRefusal): void;
  /** Called when the environment is up according to tenancy. */
  goOn(request: GatewayRequest, environment: GatewayEnvironment): void;
}

/** One environment, from its first held request until it is up or no request waits for it. */
interface Wake {
  readonly id: EnvironmentId;
  readonly sinceMs: number;
  /** Held requests in the order of arrival, which is also the order of timeouts. */
  readonly held: Set<HeldRequest>;
  /** Callers whose credential tenancy has checked for this wake-up, so that it wakes the environment for them. */
  readonly queriedCallerIds: Set<string>;
  nextQueryAtMs: number;
  timer: TimerHandle | undefined;
}

class HeldRequest implements Forwarding {
  readonly request: GatewayRequest;
  readonly untilMs: number;
  readonly #leave: (held: HeldRequest) => void;

  constructor(request: GatewayRequest, untilMs: number, leave: (held: HeldRequest) => void) {
    this.request = request;
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

  /** Holds an admitted request until it continues, is refused, or its client leaves. */
  hold(request: GatewayRequest, { facts }: GatewayEnvironment): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const existing = this.#wakes.get(facts.id);
    if (this.#held >= HELD_TOTAL_MAX || (existing?.held.size ?? 0) >= HELD_PER_ENVIRONMENT_MAX) return this.#giveUp(request);
    const wake = existing ?? this.#begin(facts.id, nowMs);
    const held = new HeldRequest(request, nowMs + WAKE_HELD_MS, (left) => this.#left(wake, left));
    wake.held.add(held);
    this.#held++;
    request.forwarding = held;
    this.#requestWake(wake, request);
  }

  /** Refuses the requests that are still held. */
  close(): void {
    for (const wake of [...this.#wakes.values()]) this.#letGo(wake, "late", (request) => this.#giveUp(request));
  }

  #begin(id: EnvironmentId, nowMs: number): Wake {
    const wake: Wake = {
      id,
      sinceMs: nowMs,
      held: new Set(),
      queriedCallerIds: new Set(),
      nextQueryAtMs: nowMs + WAKE_AGAIN_MS,
      timer: undefined,
    };
    this.#wakes.set(id, wake);
    this.#arm(wake);
    return wake;
  }

  #arm(wake: Wake): void {
    wake.timer = this.#ports.clock.setTimer(WAKE_POLL_MS, () => this.#check(wake));
  }

  #check(wake: Wake): void {
    const { clock, environments } = this.#ports;
    const nowMs = clock.monotonicMs();
    for (const held of wake.held) {
      if (held.untilMs > nowMs) break;
      if (wake.held.size === 1) return this.#letGo(wake, "late", (request) => this.#giveUp(request));
      wake.held.delete(held);
      this.#held--;
      this.#giveUp(held.request);
    }
    this.#arm(wake);
    environments.again(bareOf(wake.id)).then(
      (environment) => this.#update(wake, environment),
      () => undefined, // Tenancy is unreachable: the next poll requests it again, and held requests time out.
    );
  }

  #update(wake: Wake, update: GatewayEnvironment | "unknown"): void {
    if (this.#wakes.get(wake.id) !== wake) return;
    const { goOn, refuse, clock } = this.#ports;
    if (update === "unknown") return this.#letGo(wake, "gone", (request) => refuse(request, refusal.unknownEnvironment));
    if (update.facts.sleep === undefined) return this.#letGo(wake, "awake", (request) => goOn(request, update));
    const nowMs = clock.monotonicMs();
    if (update.facts.sleep === "waking" || nowMs < wake.nextQueryAtMs) return;
    wake.nextQueryAtMs = nowMs + WAKE_AGAIN_MS; // The request was lost, or the environment fell asleep again.
    wake.queriedCallerIds.clear();
    for (const { request } of wake.held) this.#requestWake(wake, request);
  }

  /** Tenancy wakes the environment when it checks a caller's credential; it decides which callers may wake. */
  #requestWake(wake: Wake, { caller, head }: GatewayRequest): void {
    if (caller === undefined || wake.queriedCallerIds.has(caller.id)) return;
    wake.queriedCallerIds.add(caller.id);
    const { credential } = credentialsOf(head.rawHeaders, this.#issuer);
    if (credential === undefined) return;
    this.#ports.tenancy.authenticate(credential, wake.id).catch(() => undefined); // The next poll repeats the request.
  }

  #left(wake: Wake, held: HeldRequest): void {
    if (!wake.held.delete(held)) return;
    this.#held--;
    if (wake.held.size === 0) this.#end(wake, "abandoned");
  }

  #letGo(wake: Wake, result: "awake" | "late" | "gone", then: (request: GatewayRequest) => void): void {
    const requests = Array.from(wake.held, ({ request }) => request);
    this.#held -= wake.held.size;
    wake.held.clear();
    this.#end(wake, result);
    for (const request of requests) then(request);
  }

  #end(wake: Wake, result: WakeResult): void {
    const { clock, metrics } = this.#ports;
    wake.timer?.cancel();
    this.#wakes.delete(wake.id);
    metrics?.woke(result, clock.monotonicMs() - wake.sinceMs);
  }

  /**
   * Counts the refused request as usage: tenancy receives it with the next report and wakes the environment, also for read-only callers.
   */
  #giveUp(request: GatewayRequest): void {
    const totals = request.environment?.state.totals;
    if (totals !== undefined) totals[request.endpoint === "ingress" ? "ingressRequests" : "adminRequests"]++;
    this.#ports.refuse(request, refusal.waking);
  }
}

export const wakeResults = ["awake", "late", "abandoned", "gone"] as const;
/** End of a wake-up. `late`: all held requests were refused. `abandoned`: all clients left. `gone`: the environment was deleted. */
export type WakeResult = (typeof wakeResults)[number];
