/** The Tenancy port over the database, for gateways and relays; every tenancy process serves it. */
import { type Logger, PerdureError } from "@perdure/base";
import {
  type AccountId,
  type AuthenticatedCaller,
  type Authentication,
  type BareEnvironmentId,
  type EnvironmentFacts,
  type EnvironmentId,
  environmentOfBare,
  type GatewayReport,
  parseApiKey,
  type RateShares,
  rateSharesOf,
  type Tenancy,
  type TenancyChange,
  type TunnelEvent,
  type TunnelsReport,
  type UsageReport,
} from "@perdure/cloud";
import type { AuditEntry, EnvironmentRecord } from "@perdure/postgres";
import { factsOf, isServed } from "./facts.js";
import { GATEWAY_EXPIRY_MS, LAST_USED_EVERY_MS } from "./limits.js";
import type { EnvironmentPorts } from "./ports.js";

export function createTenancy(ports: EnvironmentPorts): Tenancy {
  return new DatabaseTenancy(ports);
}

class DatabaseTenancy implements Tenancy {
  readonly #ports: EnvironmentPorts;
  readonly #logger: Logger;

  constructor(ports: EnvironmentPorts) {
    this.#ports = ports;
    this.#logger = ports.logger;
  }

  async environment(bare: BareEnvironmentId): Promise<EnvironmentFacts | undefined> {
    const { accounts, environments, signingKeys } = this.#ports.database.tables;
    const environment = await environments.get(environmentOfBare(bare));
    if (environment === undefined || !isServed(environment)) return undefined;
    const [plan, keys] = await Promise.all([accounts.plan(environment.accountId), signingKeys.of(environment.id)]);
    if (plan === undefined) throw new PerdureError("STO0003", `the account ${environment.accountId} has no plan`);
    return factsOf(this.#ports, environment, keys, plan.limits);
  }

  async environments(): Promise<readonly EnvironmentFacts[]> {
    const { accounts, environments, signingKeys } = this.#ports.database.tables;
    const [living, keys, plans] = await Promise.all([environments.living(), signingKeys.ofAll(), accounts.plans()]);
    const planOf = new Map(plans.map((plan) => [plan.id, plan]));
    const keysOf = Map.groupBy(keys, ({ environmentId }) => environmentId);
    const served = living.filter(isServed);
    const planIds = await accounts.planIds([...new Set(served.map(({ accountId }) => accountId))]);
    return served.flatMap((environment) => {
      const plan = planOf.get(planIds.get(environment.accountId) ?? "");
      if (plan === undefined) {
        this.#logger.error({ environmentId: environment.id }, "an environment without a plan is left out");
        return [];
      }
      return [factsOf(this.#ports, environment, keysOf.get(environment.id) ?? [], plan.limits)];
    });
  }

  async authenticate(credential: string, environmentId: EnvironmentId): Promise<Authentication> {
    const isKey = credential.startsWith("key_");
    const authentication = isKey ? await this.#key(credential, environmentId) : await this.#member(credential, environmentId);
    if (authentication.kind === "caller" && mayWake(authentication.caller)) {
      this.#ports.onDemand?.(environmentId);
      await this.#wake(environmentId, authentication.caller);
    }
    return authentication;
  }

  /** Resumes an environment that was suspended only because it was idle (cloud.md §5.4). This request is refused, the next one is not. */
  async #wake(id: EnvironmentId, caller: AuthenticatedCaller): Promise<void> {
    const { database, clock, logger } = this.#ports;
    const isIdle = (environment: EnvironmentRecord | undefined): boolean =>
      environment?.status === "SUSPENDED" && environment.suspendedFor === "idle";
    if (!isIdle(await database.tables.environments.get(id))) return;
    const nowMs = clock.nowMs();
    await database.change(async (tables) => {
      const present = await tables.environments.lock(id);
      if (!isIdle(present) || (await tables.environments.take(id, { event: "resume", nowMs })) === undefined) return;
      const member = caller.kind === "member";
      await tables.audit.append({
        atMs: nowMs,
        accountId: present?.accountId,
        environmentId: id,
        actorKind: member ? "user" : "system",
        actorId: caller.id,
        action: "environment.resume",
        target: present?.name,
        details: { for: "demand" },
        requestId: undefined,
        remoteAddress: undefined,
      });
      logger.info({ environmentId: id }, "resuming an idle environment on demand");
    });
  }

  watch(listener: (change: TenancyChange) => void, { signal }: { readonly signal: AbortSignal }): void {
    if (signal.aborted) return;
    signal.addEventListener("abort", this.#ports.database.onChange(listener), { once: true });
    // The database has no change events for hibernation: each process watches it.
    this.#ports.hibernation?.watch((id) => listener({ kind: "environment", id }), { signal });
  }

  async report(reports: readonly UsageReport[]): Promise<void> {
    const { usage } = this.#ports.database.tables;
    for (const { environmentId, source, atMs, totals } of reports) {
      await usage.report(environmentId, source, atMs, { actions: 0, ...totals }, undefined);
      // Gateways report only changed totals: cached callers sent requests, for which no credential check reaches tenancy.
      if (totals.ingressRequests + totals.adminRequests > 0) this.#ports.onDemand?.(environmentId);
    }
  }

  async reportTunnels(report: TunnelsReport): Promise<void> {
    const nowMs = this.#ports.clock.nowMs();
    const { database } = this.#ports;
    await database.change(async (tables) => {
      await tables.tunnels.replace(report, nowMs);
      const accounts = new Map<EnvironmentId, AccountId | undefined>();
      for (const event of report.events ?? []) {
        const { environmentId } = event;
        if (!accounts.has(environmentId)) accounts.set(environmentId, (await tables.environments.get(environmentId))?.accountId);
        const accountId = accounts.get(environmentId);
        if (accountId !== undefined) await tables.audit.append(tunnelAudit(event, report.relay, accountId));
      }
    });
  }

  async shareRates(report: GatewayReport): Promise<RateShares> {
    const { database, clock } = this.#ports;
    const nowMs = clock.nowMs();
    await database.tables.gateways.replace(report, nowMs);
    const living = await database.tables.gateways.of(report.region, nowMs - GATEWAY_EXPIRY_MS);
    return rateSharesOf(living, report.gateway);
  }

  async runtimeOf(token: string): Promise<EnvironmentId | undefined> {
    const id = this.#ports.ring.environmentOfToken(token);
    const environment = id === undefined ? undefined : await this.#ports.database.tables.environments.get(id);
    return environment !== undefined && isServed(environment) ? environment.id : undefined;
  }

  async #key(credential: string, environmentId: EnvironmentId): Promise<Authentication> {
    const { database, ring, clock } = this.#ports;
    const shown = parseApiKey(credential);
    const record = shown === undefined ? undefined : await database.tables.apiKeys.get(shown.id);
    if (shown === undefined || record === undefined) return UNKNOWN;
    const nowMs = clock.nowMs();
    const isGood =
      ring.matches(shown.secret, record.secretHash, record.pepperVersion) &&
      record.deletedAtMs === undefined &&
      (record.expiresAtMs === undefined || record.expiresAtMs > nowMs);
    if (!isGood) return UNKNOWN;
    if (record.environmentId !== environmentId) return ELSEWHERE;
    if (record.pepperVersion < ring.newest) {
      const { hash, pepperVersion } = ring.hash(shown.secret);
      await database.tables.apiKeys.rehashed(record.id, hash, pepperVersion);
    }
    if (nowMs - (record.lastUsedAtMs ?? 0) > LAST_USED_EVERY_MS) {
      await database.tables.apiKeys.used(record.id, nowMs, LAST_USED_EVERY_MS);
    }
    const { id, role, expiresAtMs, ratePerSecond } = record;
    return { kind: "caller", caller: { kind: "key", id, role, expiresAtMs, ratePerSecond } };
  }

  async #member(credential: string, environmentId: EnvironmentId): Promise<Authentication> {
    const { tables } = this.#ports.database;
    const token = await this.#ports.tokens.verify(credential);
    if (token === undefined) return UNKNOWN;
    const environment = await tables.environments.get(environmentId);
    if (environment === undefined) return ELSEWHERE;
    const role = await tables.accounts.roleOf(environment.accountId, token.userId);
    if (role === undefined) return ELSEWHERE;
    return { kind: "caller", caller: { kind: "member", id: token.userId, role, expiresAtMs: token.expiresAtMs } };
  }
}

/** Whether the caller may do more than read. */
function mayWake(caller: AuthenticatedCaller): boolean {
  if (caller.kind === "key") return caller.role !== "perdure:role::AdminReadOnly";
  return caller.role !== "viewer" && caller.role !== "billing";
}

const UNKNOWN: Authentication = { kind: "unknown" };
const ELSEWHERE: Authentication = { kind: "elsewhere" };

const TUNNEL_ACTIONS = { opened: "tunnel.open", closed: "tunnel.close", refused: "tunnel.refuse" } as const;

function tunnelAudit(event: TunnelEvent, relay: string, accountId: AccountId): AuditEntry {
  const { kind, atMs, environmentId, name, id, caller, address, reason, omitted } = event;
  return {
    atMs,
    accountId,
    environmentId,
    actorKind: caller?.kind === "member" ? "user" : "system",
    actorId: caller?.id ?? "tunnel-relay",
    action: TUNNEL_ACTIONS[kind],
    target: name,
    details: {
      relay,
      ...(id === undefined ? {} : { connection: id }),
      ...(reason === undefined ? {} : { reason }),
      ...(omitted === 0 ? {} : { omitted }),
    },
    requestId: undefined,
    remoteAddress: address,
  };
}
