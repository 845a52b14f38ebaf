/**
 * Reconciles runtimes with the desired state in the database, and the database with the state of runtimes (cloud.md §5.2).
 * Level-triggered: each run compares desired and actual state, so an additional run changes nothing, and a process that restarts continues
 * where another stopped. One tenancy process at a time does this.
 *
 * PENDING    request a runtime ─▸ ready: ACTIVE        three failures: FAILED
 * ACTIVE     keep it running ─▸ failing for half an hour: FAILED      SUSPENDED  keep it, without running handlers
 * FAILED     no runtime          DELETING   no runtime ─▸ after the window: erase data, delete the key, DELETED
 */
import { backoffMs, causeMessage, type Logger, PerdureError, Secret, type TimerHandle } from "@perdure/base";
import type { DesiredRuntime, EnvironmentId, Provisioner, RuntimeState, Upstream } from "@perdure/cloud";
import type { AuditEntry, EnvironmentRecord, StatusTransition, TenancyTables } from "@perdure/postgres";
import { UPSTREAM_SECRET, upstreamOf } from "./facts.js";
import {
  PROVISION_MS_MAX,
  PROVISION_TRIES_MAX,
  RECONCILE_AT_ONCE,
  RECONCILE_EVERY_MS,
  RECOVER_FIRST_MS,
  RECOVER_LONGEST_MS,
  RECOVER_TRIES_MAX,
} from "./limits.js";
import type { EnvironmentPorts } from "./ports.js";

/** The actor in the audit log. */
const ACTOR = "reconciler";

interface ReconcilerPorts extends EnvironmentPorts {
  readonly provisioner: Provisioner;
  /** False as soon as another process may reconcile: nothing is started then. */
  readonly mayAct: () => boolean;
}

interface ReconcilerOptions {
  /** Whether runtimes get the address of tunnel relays. */
  readonly withTunnels: boolean;
}

/** Runs until it is disposed of; running work is finished. The caller keeps ownership of the provisioner. */
export function createReconciler(ports: ReconcilerPorts, options: ReconcilerOptions): AsyncDisposable {
  return new Reconciler(ports, options);
}

class Reconciler implements AsyncDisposable {
  readonly #ports: ReconcilerPorts;
  readonly #options: ReconcilerOptions;
  readonly #logger: Logger;
  /** Environments to reconcile; `true` in `#everything` means all. */
  readonly #due = new Set<EnvironmentId>();
  #everything = true;
  #running: Promise<void> | undefined;
  #timer: TimerHandle | undefined;
  #isClosed = false;
  readonly #unlisten: () => void;
  /** Time at which the present generation was requested. The timeout is counted in this process and not stored. */
  readonly #requestedAtMs = new Map<EnvironmentId, { readonly generation: number; readonly atMs: number }>();
  /** Runtimes that worked before and failed: no new attempt before this time. */
  readonly #notBeforeMs = new Map<EnvironmentId, { readonly atMs: number; readonly failures: number }>();

  constructor(ports: ReconcilerPorts, options: ReconcilerOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#logger = ports.logger;
    ports.provisioner.onChange((id) => this.#wake(id));
    this.#unlisten = ports.database.onChange((change) => {
      if (change.kind === "environment") this.#wake(change.id);
      else if (change.kind === "everything") this.#wake(undefined);
    });
    this.#tick();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#unlisten();
    this.#timer?.cancel();
    await this.#running;
  }

  /** Reconciles everything at intervals: change events can be lost, and some transitions depend on time. */
  #tick(): void {
    if (this.#isClosed) return;
    this.#wake(undefined);
    this.#timer = this.#ports.clock.setTimer(RECONCILE_EVERY_MS, () => this.#tick());
  }

  #wake(id: EnvironmentId | undefined): void {
    if (this.#isClosed) return;
    if (id === undefined) this.#everything = true;
    else this.#due.add(id);
    this.#running ??= this.#run();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      while (!this.#isClosed && (this.#everything || this.#due.size > 0)) {
        const due = await this.#take();
        for (let i = 0; i < due.length && !this.#isClosed; i += RECONCILE_AT_ONCE) {
          await Promise.all(due.slice(i, i + RECONCILE_AT_ONCE).map((environment) => this.#reconcileOne(environment)));
        }
      }
    } catch (cause) {
      const { code, detail } = PerdureError.from(cause);
      this.#logger.warn({ code, reason: detail }, "cannot read the environments; retrying");
    } finally {
      this.#running = undefined;
    }
  }

  async #take(): Promise<readonly EnvironmentRecord[]> {
    const { environments } = this.#ports.database.tables;
    const ids = [...this.#due];
    this.#due.clear();
    if (this.#everything) {
      this.#everything = false;
      return environments.living();
    }
    const records = await Promise.all(ids.map((id) => environments.get(id)));
    return records.filter((record) => record !== undefined);
  }

  /** Never rejects: the error of one environment must not affect others. */
  async #reconcileOne(environment: EnvironmentRecord): Promise<void> {
    if (!this.#ports.mayAct()) return;
    try {
      await this.#reconcile(environment);
    } catch (cause) {
      const error = PerdureError.from(cause);
      const fields = { environmentId: environment.id, status: environment.status, code: error.code, error: cause };
      this.#logger.error(fields, "an environment could not be reconciled; retrying");
    }
  }

  async #reconcile(environment: EnvironmentRecord): Promise<void> {
    switch (environment.status) {
      case "PENDING":
        return this.#bringUp(environment);
      case "ACTIVE":
      case "SUSPENDED":
        return this.#keep(environment);
      case "FAILED":
        return this.#end(environment, { erase: false });
      case "DELETING":
        return this.#delete(environment);
      case "DELETED":
        return;
    }
  }

  async #bringUp(environment: EnvironmentRecord): Promise<void> {
    const { id, generation, tries } = environment;
    const state = this.#current(environment);
    if (state?.phase === "ready") {
      await this.#step(environment, { event: "provisioned" }, state.upstream);
      this.#notBeforeMs.delete(id);
      return;
    }
    const failure = state?.phase === "failed" ? state.reason : await this.#apply(environment, state);
    if (failure === undefined) return;
    this.#logger.warn({ environmentId: id, generation, reason: failure }, "the runtime of an environment could not be made");
    if (tries + 1 < PROVISION_TRIES_MAX) {
      await this.#ports.database.tables.environments.failed(id, generation, failure);
      this.#wake(id);
      return;
    }
    await this.#step(environment, { event: "provisioningFailed", failure }, undefined);
  }

  async #keep(environment: EnvironmentRecord): Promise<void> {
    const { id, status, tries } = environment;
    const state = this.#current(environment);
    if (state?.phase === "ready") {
      this.#notBeforeMs.delete(id);
      if (!sameUpstream(upstreamOf(this.#ports, environment), state.upstream))
        await this.#setUpstream(environment, state.upstream);
      return;
    }
    if (state?.phase === "failed") {
      if (environment.upstreamIngress !== undefined) await this.#setUpstream(environment, undefined);
      const { clock, random } = this.#ports;
      const waiting = this.#notBeforeMs.get(id);
      if (waiting !== undefined && clock.monotonicMs() < waiting.atMs) return;
      const failures = (waiting?.failures ?? 0) + 1;
      const pauseMs = backoffMs(failures, { firstMs: RECOVER_FIRST_MS, longestMs: RECOVER_LONGEST_MS }, random);
      this.#notBeforeMs.set(id, { atMs: clock.monotonicMs() + pauseMs, failures });
      this.#logger.warn({ environmentId: id, reason: state.reason, pauseMs }, "a runtime failed; starting it again");
      if (status === "ACTIVE" && tries + 1 >= RECOVER_TRIES_MAX) {
        return this.#step(environment, { event: "gaveUp", failure: state.reason }, undefined);
      }
      await this.#failed(environment, state.reason);
      this.#wake(id);
      return;
    }
    const failure = await this.#apply(environment, state);
    if (failure !== undefined) this.#logger.warn({ environmentId: id, reason: failure }, "a runtime could not be requested");
  }

  /** Records that an environment failed. Its owners receive a mail about the first failure of a series. */
  async #failed(environment: EnvironmentRecord, reason: string): Promise<void> {
    const { database, clock } = this.#ports;
    await database.change(async (tables) => {
      await tables.environments.failed(environment.id, environment.generation, reason);
      if (environment.tries > 0) return;
      await tables.audit.append({
        ...auditLine(environment, { event: "gaveUp", failure: reason }, clock.nowMs()),
        action: "environment.runtime-failed",
      });
    });
  }

  async #delete(environment: EnvironmentRecord): Promise<void> {
    const { eraseAtMs = 0 } = environment;
    if (this.#ports.clock.nowMs() < eraseAtMs) return this.#end(environment, { erase: false });
    await this.#end(environment, { erase: true });
    await this.#step(environment, { event: "erased" }, undefined);
  }

  async #end(environment: EnvironmentRecord, { erase }: { readonly erase: boolean }): Promise<void> {
    const { provisioner } = this.#ports;
    this.#requestedAtMs.delete(environment.id);
    this.#notBeforeMs.delete(environment.id);
    if (erase || provisioner.state(environment.id) !== undefined) await provisioner.remove(environment.id, { erase });
    if (environment.upstreamIngress !== undefined) await this.#setUpstream(environment, undefined);
  }

  /** The provisioner's state of the present generation; undefined while it reports an older generation, or none. */
  #current({ id, generation }: EnvironmentRecord): RuntimeState | undefined {
    const state = this.#ports.provisioner.state(id);
    return state !== undefined && state.generation >= generation ? state : undefined;
  }

  /** Requests the desired state once; returns why it failed, or that it timed out. */
  async #apply(environment: EnvironmentRecord, state: RuntimeState | undefined): Promise<string | undefined> {
    const { id, generation } = environment;
    const nowMs = this.#ports.clock.monotonicMs();
    const requested = this.#requestedAtMs.get(id);
    if (state !== undefined && requested?.generation === generation) {
      return nowMs - requested.atMs > PROVISION_MS_MAX ? `it was not ready within ${PROVISION_MS_MAX / 1_000} s` : undefined;
    }
    this.#requestedAtMs.set(id, { generation, atMs: nowMs });
    try {
      await this.#ports.provisioner.apply(await this.#desiredRuntime(environment));
      return undefined;
    } catch (cause) {
      this.#requestedAtMs.delete(id);
      return causeMessage(cause);
    }
  }

  async #desiredRuntime(environment: EnvironmentRecord): Promise<DesiredRuntime> {
    const { database, keys, addresses, ring } = this.#ports;
    const { id, accountId, generation, status, region } = environment;
    const [signingKeys, plan] = await Promise.all([database.tables.signingKeys.of(id), database.tables.accounts.plan(accountId)]);
    const current = signingKeys.find(({ state }) => state === "CURRENT");
    if (current === undefined || plan === undefined) throw new PerdureError("STO0003", `${id} has no signing key or no plan`);
    return {
      environmentId: id,
      accountId,
      region,
      generation,
      mode: status === "SUSPENDED" ? "suspended" : "running",
      signingKeyPem: keys.signingKey(environment, current),
      limits: plan.limits,
      ingressUrl: addresses.ingressUrl(environment),
      tunnels: this.#options.withTunnels
        ? { proxyUrl: addresses.proxyUrl(region), token: new Secret(ring.tunnelToken(id)) }
        : undefined,
    };
  }

  async #setUpstream(environment: EnvironmentRecord, upstream: Upstream | undefined): Promise<void> {
    await this.#ports.database.tables.environments.setUpstream(environment.id, this.#sealed(environment, upstream));
  }

  #sealed(environment: EnvironmentRecord, upstream: Upstream | undefined) {
    if (upstream === undefined) return undefined;
    const { ingress, admin, secret } = upstream;
    const sealed = secret === undefined ? undefined : this.#ports.keys.sealText(environment, secret, UPSTREAM_SECRET);
    return { ingress, admin, secret: sealed };
  }

  /** One transition of the environment, unless it changed meanwhile; then the next run sees the change. */
  async #step(
    { id, generation }: EnvironmentRecord,
    step: Pick<StatusTransition, "event" | "failure">,
    upstream: Upstream | undefined,
  ): Promise<void> {
    const { database, clock } = this.#ports;
    const nowMs = clock.nowMs();
    const isApplied = await database.change(async (tables) => {
      const present = await tables.environments.lock(id);
      if (present === undefined || present.generation !== generation) return false;
      if (upstream !== undefined) await tables.environments.setUpstream(id, this.#sealed(present, upstream));
      const after = await tables.environments.take(id, { ...step, nowMs });
      if (after === undefined) return false;
      if (step.event === "erased") await this.#shred(tables, after, nowMs);
      await tables.audit.append(auditLine(after, step, nowMs));
      return true;
    });
    if (isApplied) this.#logger.info({ environmentId: id, event: step.event }, "environment status changed");
    else this.#wake(id);
  }

  async #shred(tables: TenancyTables, { id }: EnvironmentRecord, nowMs: number): Promise<void> {
    await tables.environments.shred(id);
    await tables.apiKeys.deleteAll(id, nowMs);
  }
}

function sameUpstream(one: Upstream | undefined, other: Upstream): boolean {
  return one?.ingress === other.ingress && one.admin === other.admin && one.secret?.reveal() === other.secret?.reveal();
}

function auditLine(
  { id, accountId, name }: EnvironmentRecord,
  { event, failure }: Pick<StatusTransition, "event" | "failure">,
  atMs: number,
): AuditEntry {
  return {
    atMs,
    accountId,
    environmentId: id,
    actorKind: "system",
    actorId: ACTOR,
    action: `environment.${event}`,
    target: name,
    details: failure === undefined ? {} : { reason: failure },
    requestId: undefined,
    remoteAddress: undefined,
  };
}
