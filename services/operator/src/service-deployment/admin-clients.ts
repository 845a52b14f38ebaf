/**
 * Clients of management APIs. A runtime may be slow, faulty or gone, and must not delay the others: every request has a timeout, and after
 * a failure a management API gets no requests for a while, longer each time (kubernetes.md §3.3).
 */
import { AdminApiError, AdminClient, type ApiTransport, sqlOneOf } from "@perdure/admin-client";
import { BoundedCache, backoffMs, type Clock, type Random } from "@perdure/base";
import { ADMIN_ANSWER_MS, CIRCUIT_BOUNDS, CIRCUITS_MAX, REGISTER_ANSWER_MS } from "../limits.js";
import type { AdminTarget } from "./target.js";

export type AdminResult<T> =
  | { readonly kind: "answered"; readonly value: T }
  /** The API refuses; a retry has the same result until something changes. */
  | { readonly kind: "refused"; readonly message: string; readonly status: number; readonly code: string | undefined }
  /** There was no response, or no request because of a recent failure. */
  | { readonly kind: "unreachable"; readonly message: string; readonly againMs: number };

interface DesiredRegistration {
  readonly url: string;
  readonly protocol: "auto" | "http1" | "h2c";
  /** Registers also when this removes handlers that clients use. */
  readonly breaking: boolean;
  /** Registers a known deployment again, so that it becomes the latest. */
  readonly again: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Whether deployments are registered and still used. */
export interface VersionUsage {
  /** Ids that are registered. */
  readonly registered: ReadonlySet<string>;
  /** Unfinished invocations that can continue nowhere else. */
  readonly pinned: ReadonlyMap<string, number>;
  /** Running attempts by deployment; those of invocations that are not pinned yet would start over elsewhere. */
  readonly running: ReadonlyMap<string, number>;
  /** Services whose latest revision belongs to the deployment, by id of the deployment. */
  readonly serves: ReadonlyMap<string, readonly string[]>;
}

const NOTHING: VersionUsage = { registered: new Set(), pinned: new Map(), running: new Map(), serves: new Map() };

interface Circuit {
  failures: number;
  openUntilMs: number;
  message: string;
}

interface AdminClientPorts {
  readonly clock: Clock;
  /** Draws the time in which no request is sent to a management API that did not answer. */
  readonly random?: Random | undefined;
  readonly transport?: ApiTransport | undefined;
}

export class AdminClients {
  readonly #clock: Clock;
  readonly #random: Random | undefined;
  readonly #transport: ApiTransport | undefined;
  /** Circuits by the address of the management API; the entry with the oldest failure is dropped first. */
  readonly #circuits = new BoundedCache<string, Circuit>({ entriesMax: CIRCUITS_MAX });

  constructor({ clock, random, transport }: AdminClientPorts) {
    this.#clock = clock;
    this.#random = random;
    this.#transport = transport;
  }

  /** The id that it has there. */
  async register(target: AdminTarget, registration: DesiredRegistration, signal: AbortSignal): Promise<AdminResult<string>> {
    const { url, protocol, breaking, again, metadata } = registration;
    const register = (useHttp11: boolean): Promise<AdminResult<string>> =>
      this.#request(target, REGISTER_ANSWER_MS, signal, async (client, within) => {
        const registration = { address: url, useHttp11, breaking, force: again, metadata };
        return (await client.deployments.register(registration, { signal: within })).deployment.id;
      });
    const answer = await register(protocol === "http1");
    const speaksHttp1 = answer.kind === "refused" && answer.code === "META0014";
    return speaksHttp1 && protocol === "auto" ? register(true) : answer;
  }

  readUsage(target: AdminTarget, ids: readonly string[], signal: AbortSignal): Promise<AdminResult<VersionUsage>> {
    if (ids.length === 0) {
      return Promise.resolve({ kind: "answered", value: NOTHING });
    }
    const unfinished = `status != 'completed' AND ${sqlOneOf("pinned_deployment_id", ids)}`;
    const counting = "SELECT pinned_deployment_id AS id, COUNT(*) AS pinned FROM sys_invocation_status";
    return this.#request(target, ADMIN_ANSWER_MS, signal, async ({ sql }, within) => {
      const call = { signal: within };
      const inFlight = `in_flight = true AND ${sqlOneOf("last_attempt_deployment_id", ids)}`;
      const attempts = "SELECT last_attempt_deployment_id AS id, COUNT(*) AS running FROM sys_invocation_state";
      const [registered, pinned, running, serves] = await Promise.all([
        sql.query(`SELECT id FROM sys_deployment WHERE ${sqlOneOf("id", ids)}`, call),
        sql.query(`${counting} WHERE ${unfinished} GROUP BY pinned_deployment_id`, call),
        sql.query(`${attempts} WHERE ${inFlight} GROUP BY last_attempt_deployment_id`, call),
        sql.query(`SELECT deployment_id AS id, name FROM sys_service WHERE ${sqlOneOf("deployment_id", ids)}`, call),
      ]);
      const names = new Map<string, string[]>();
      for (const row of serves) names.set(String(row["id"]), [...(names.get(String(row["id"])) ?? []), String(row["name"])]);
      return {
        registered: new Set(registered.map((row) => String(row["id"]))),
        pinned: new Map(pinned.map((row) => [String(row["id"]), Number(row["pinned"])])),
        running: new Map(running.map((row) => [String(row["id"]), Number(row["running"])])),
        serves: names,
      };
    });
  }

  /** Whether the deployment is registered at this management API. */
  async knows(target: AdminTarget, id: string, signal: AbortSignal): Promise<AdminResult<boolean>> {
    const answer = await this.#request(target, ADMIN_ANSWER_MS, signal, async ({ deployments }, within) => {
      await deployments.get(id, { signal: within });
      return true;
    });
    return answer.kind === "refused" && answer.status === 404 ? { kind: "answered", value: false } : answer;
  }

  /**
   * Resolves when the deployment is removed, also when it was not registered. Refused with 409 while invocations need it, unless `force`.
   */
  async remove(target: AdminTarget, id: string, force: boolean, signal: AbortSignal): Promise<AdminResult<undefined>> {
    const answer = await this.#request(target, ADMIN_ANSWER_MS, signal, async ({ deployments }, within) => {
      await deployments.remove(id, force, { signal: within });
      return undefined;
    });
    return answer.kind === "refused" && answer.status === 404 ? { kind: "answered", value: undefined } : answer;
  }

  /** Whether the management API answers, and accepts the token. */
  version(target: AdminTarget, signal: AbortSignal): Promise<AdminResult<string>> {
    return this.#request(
      target,
      ADMIN_ANSWER_MS,
      signal,
      async (client, within) => (await client.version({ signal: within })).version,
    );
  }

  async #request<T>(
    { url, token }: AdminTarget,
    withinMs: number,
    signal: AbortSignal,
    work: (client: AdminClient, signal: AbortSignal) => Promise<T>,
  ): Promise<AdminResult<T>> {
    const circuit = this.#circuits.peek(url);
    const now = this.#clock.monotonicMs();
    if (circuit !== undefined && circuit.openUntilMs > now) {
      return { kind: "unreachable", message: circuit.message, againMs: circuit.openUntilMs - now };
    }
    const client = new AdminClient({
      baseUrl: url,
      token: () => token,
      userAgent: "perdure-operator",
      transport: this.#transport,
    });
    const timeout = AbortSignal.timeout(withinMs);
    try {
      const value = await work(client, AbortSignal.any([signal, timeout]));
      this.#circuits.delete(url);
      return { kind: "answered", value };
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (timeout.aborted) return this.#fail(url, `no answer from ${url} within ${withinMs} ms`);
      if (!(cause instanceof AdminApiError)) throw cause;
      if (isOutage(cause.status)) return this.#fail(url, cause.message);
      this.#circuits.delete(url);
      const message = cause.code === undefined ? cause.message : `[${cause.code}] ${cause.message}`;
      return { kind: "refused", message, status: cause.status, code: cause.code };
    }
  }

  #fail(url: string, message: string): AdminResult<never> {
    const before = this.#circuits.peek(url)?.failures ?? 0;
    const againMs = backoffMs(before, CIRCUIT_BOUNDS, this.#random);
    this.#circuits.set(url, { failures: before + 1, openUntilMs: this.#clock.monotonicMs() + againMs, message });
    return { kind: "unreachable", message, againMs };
  }
}

/**
 * Whether a status means that no API answered: no response, a proxy without a backend, or a delay. A 500 is a response: discovery failed.
 */
const isOutage = (status: number): boolean => status === 0 || status === 429 || (status >= 502 && status <= 504);
