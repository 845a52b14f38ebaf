/** A Tenancy in memory whose facts a test sets; it compares credentials by their text and keeps all reports. */
import { PerdureError, systemRandom } from "@perdure/base";
import {
  type AuthenticatedCaller,
  type Authentication,
  apiKeyText,
  type BareEnvironmentId,
  bareOf,
  type EnvironmentFacts,
  type EnvironmentId,
  type GatewayReport,
  type KeyRole,
  newAccountId,
  newApiKey,
  newEnvironmentId,
  type RateShares,
  rateSharesOf,
  type Tenancy,
  type TenancyChange,
  type TunnelsReport,
  type UsageReport,
} from "../index.js";

const NOW_MS = 1_795_000_000_000;

export const exampleLimits: EnvironmentFacts["limits"] = {
  ingressRate: { perSecond: 20, burst: 50 },
  adminRate: { perSecond: 5, burst: 20 },
  bodyBytesMax: 4 * 1024 * 1024,
  concurrentInvocationsMax: 100,
  storedBytesMax: 1024 ** 3,
  retentionMsMax: 86_400_000,
  deploymentsMax: 20,
  servicesMax: 50,
  subscriptionsMax: 0,
  tunnelNamesMax: 4,
  tunnelConnectionsMax: 16,
  memoryMibMax: 256,
  plainHttpAllowed: false,
};

/** An active environment with a new id; `set` overrides its facts. */
export function exampleEnvironment(set: Partial<EnvironmentFacts> = {}): EnvironmentFacts {
  const id = set.id ?? newEnvironmentId(NOW_MS, systemRandom);
  const host = `${bareOf(id)}.env.us.perdure.test`;
  return {
    id,
    accountId: newAccountId(systemRandom),
    region: "us",
    status: "ACTIVE",
    upstream: { ingress: "http://127.0.0.1:1", admin: "http://127.0.0.1:2" },
    ingressUrl: `https://${host}:8080`,
    adminUrl: `https://${host}:9070`,
    signingPublicKeys: [],
    limits: exampleLimits,
    corsOrigins: ["*"],
    forwardsForeignAuthorization: false,
    ...set,
  };
}

export class MemoryTenancy implements Tenancy {
  /** All usage reports, in order. */
  readonly reports: UsageReport[] = [];
  /** The last report of each relay. */
  readonly tunnels = new Map<string, TunnelsReport>();
  /** The last report of each gateway; a test deletes one to end that gateway. */
  readonly gateways = new Map<string, GatewayReport>();
  /** Tokens of runtimes. */
  readonly runtimes = new Map<string, EnvironmentId>();
  /** Number of calls of `environment` and `authenticate`, which shows what a cache saves. */
  readonly callCounts = { environment: 0, authenticate: 0 };
  /** Whether every call is rejected with TEN0001. */
  isAway = false;
  readonly #environments = new Map<EnvironmentId, EnvironmentFacts>();
  readonly #credentials = new Map<
    string,
    { readonly environmentIds: readonly EnvironmentId[]; readonly caller: AuthenticatedCaller }
  >();
  readonly #listeners = new Set<(change: TenancyChange) => void>();

  /** Adds an environment, or changes it. */
  put(facts: EnvironmentFacts): EnvironmentFacts {
    this.#environments.set(facts.id, facts);
    this.notify({ kind: "environment", id: facts.id });
    return facts;
  }

  remove(id: EnvironmentId): void {
    this.#environments.delete(id);
    this.notify({ kind: "environment", id });
  }

  /** Makes a key and returns its text. */
  addKey(environmentId: EnvironmentId, role: KeyRole, expiresAtMs?: number, ratePerSecond?: number): string {
    const key = newApiKey(systemRandom);
    this.addCaller(apiKeyText(key), [environmentId], { kind: "key", id: key.id, role, expiresAtMs, ratePerSecond });
    return apiKeyText(key);
  }

  /** Makes the credential valid for this caller in these environments. */
  addCaller(credential: string, environmentIds: readonly EnvironmentId[], caller: AuthenticatedCaller): void {
    this.#credentials.set(credential, { environmentIds, caller });
  }

  /** Deletes the credential and reports the change to listeners. */
  revoke(credential: string): void {
    const existing = this.#credentials.get(credential);
    this.#credentials.delete(credential);
    for (const environmentId of existing?.environmentIds ?? []) {
      const accountId = this.#environments.get(environmentId)?.accountId;
      if (existing?.caller.kind === "key") this.notify({ kind: "key", id: existing.caller.id, environmentId });
      else if (existing !== undefined && accountId !== undefined)
        this.notify({ kind: "member", id: existing.caller.id, accountId });
    }
  }

  notify(change: TenancyChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  async environment(bare: BareEnvironmentId): Promise<EnvironmentFacts | undefined> {
    this.callCounts.environment++;
    this.#answers();
    return this.#living().find(({ id }) => bareOf(id) === bare);
  }

  async environments(): Promise<readonly EnvironmentFacts[]> {
    this.#answers();
    return this.#living();
  }

  async authenticate(credential: string, environmentId: EnvironmentId): Promise<Authentication> {
    this.callCounts.authenticate++;
    this.#answers();
    const existing = this.#credentials.get(credential);
    if (existing === undefined) return { kind: "unknown" };
    return existing.environmentIds.includes(environmentId) ? { kind: "caller", caller: existing.caller } : { kind: "elsewhere" };
  }

  watch(listener: (change: TenancyChange) => void, { signal }: { readonly signal: AbortSignal }): void {
    if (signal.aborted) return;
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
    listener({ kind: "everything" });
  }

  async report(reports: readonly UsageReport[]): Promise<void> {
    this.#answers();
    this.reports.push(...reports);
  }

  async reportTunnels(report: TunnelsReport): Promise<void> {
    this.#answers();
    this.tunnels.set(report.relay, report);
  }

  async shareRates(report: GatewayReport): Promise<RateShares> {
    this.#answers();
    this.gateways.set(report.gateway, report);
    return rateSharesOf([...this.gateways.values()], report.gateway);
  }

  async runtimeOf(token: string): Promise<EnvironmentId | undefined> {
    this.#answers();
    return this.runtimes.get(token);
  }

  #living(): EnvironmentFacts[] {
    return [...this.#environments.values()].filter(({ status }) => status !== "DELETED");
  }

  #answers(): void {
    if (this.isAway) throw new PerdureError("TEN0001", "tenancy cannot be reached");
  }
}
