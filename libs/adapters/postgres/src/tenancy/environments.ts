/** Environments: their settings, their status, and the addresses of their runtimes. */
import { present } from "@perdure/base";
import {
  type AccountId,
  afterEvent,
  type EnvironmentEvent,
  type EnvironmentId,
  type EnvironmentStatus,
  statusesBefore,
} from "@perdure/cloud";
import type { SqlSession } from "./session.js";

type SuspendedFor = "user" | "quota" | "idle" | "abuse" | "billing";

export interface EnvironmentRecord {
  readonly id: EnvironmentId;
  readonly accountId: AccountId;
  readonly name: string;
  readonly region: string;
  readonly description: string | undefined;
  readonly status: EnvironmentStatus;
  readonly suspendedFor: SuspendedFor | undefined;
  readonly generation: number;
  readonly tries: number;
  readonly failure: string | undefined;
  readonly upstreamIngress: string | undefined;
  readonly upstreamAdmin: string | undefined;
  /** Sealed. */
  readonly upstreamSecret: Uint8Array | undefined;
  readonly slot: number | undefined;
  readonly corsOrigins: readonly string[];
  readonly forwardsForeignAuthorization: boolean;
  /** Sealed; undefined when it was destroyed. */
  readonly dataKey: Uint8Array | undefined;
  readonly createdAtMs: number;
  readonly changedAtMs: number;
  readonly lastTrafficAtMs: number;
  readonly eraseAtMs: number | undefined;
  /** Whether the account has used up the month's traffic. */
  readonly isThrottled: boolean;
}

interface NewEnvironment {
  readonly id: EnvironmentId;
  readonly accountId: AccountId;
  readonly name: string;
  readonly region: string;
  readonly description: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly dataKey: Uint8Array;
  readonly nowMs: number;
  /** Whether the environment gets a number for ports of its own. */
  readonly withSlot: boolean;
}

interface SealedUpstream {
  readonly ingress: string;
  readonly admin: string;
  readonly secret: Uint8Array | undefined;
}

/** Fields that may change together with the status. */
export interface StatusTransition {
  readonly event: EnvironmentEvent;
  readonly nowMs: number;
  /** Undefined: as it was. */
  readonly suspendedFor?: SuspendedFor;
  readonly eraseAtMs?: number;
  readonly failure?: string;
}

const COLUMNS = `id, account_id AS "accountId", name, region, description, status, suspended_for AS "suspendedFor", generation,
  tries, failure, upstream_ingress AS "upstreamIngress", upstream_admin AS "upstreamAdmin", upstream_secret AS "upstreamSecret",
  slot, cors_origins AS "corsOrigins", forwards_foreign_authorization AS "forwardsForeignAuthorization", data_key AS "dataKey",
  created_at_ms AS "createdAtMs", changed_at_ms AS "changedAtMs", last_traffic_at_ms AS "lastTrafficAtMs",
  erase_at_ms AS "eraseAtMs", throttled AS "isThrottled"`;

export class EnvironmentsTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /**
   * Inserts it as PENDING, with generation 1. Throws `AlreadyThere` (`perdure_environments_by_name`) when the name exists. Lock the account
   * first.
   */
  async insert(environment: NewEnvironment): Promise<void> {
    const { id, accountId, name, region, description, idempotencyKey, dataKey, nowMs, withSlot } = environment;
    // Two that are made at once would find the same number free.
    if (withSlot) await this.#session.write("SELECT pg_advisory_xact_lock(hashtextextended('perdure environment slots', 0))");
    const text = `INSERT INTO perdure_environments (id, account_id, name, region, description, status, generation, slot, cors_origins,
        forwards_foreign_authorization, idempotency_key, data_key, created_at_ms, changed_at_ms, last_traffic_at_ms)
      VALUES ($1, $2, $3, $4, $5, 'PENDING', 1, CASE WHEN $8 THEN (
          SELECT min(s) FROM generate_series(0, (SELECT count(*) FROM perdure_environments WHERE status <> 'DELETED')) AS s
          WHERE s NOT IN (SELECT slot FROM perdure_environments WHERE status <> 'DELETED' AND slot IS NOT NULL)
        ) END, '{*}', false, $6, $7, $9, $9, $9)`;
    await this.#session.write(text, [id, accountId, name, region, description, idempotencyKey, dataKey, withSlot, nowMs]);
    await this.#session.notify({ kind: "environment", id });
  }

  get(id: EnvironmentId): Promise<EnvironmentRecord | undefined> {
    return this.#session.row(`SELECT ${COLUMNS} FROM perdure_environments WHERE id = $1`, [id]);
  }

  /** The same, and no other transaction changes it until this one ends. */
  lock(id: EnvironmentId): Promise<EnvironmentRecord | undefined> {
    return this.#session.row(`SELECT ${COLUMNS} FROM perdure_environments WHERE id = $1 FOR UPDATE`, [id]);
  }

  ofIdempotencyKey(accountId: AccountId, key: string): Promise<EnvironmentRecord | undefined> {
    const text = `SELECT ${COLUMNS} FROM perdure_environments WHERE account_id = $1 AND idempotency_key = $2`;
    return this.#session.row(text, [accountId, key]);
  }

  /** All but the deleted ones, oldest first. */
  ofAccount(accountId: AccountId): Promise<EnvironmentRecord[]> {
    const text = `SELECT ${COLUMNS} FROM perdure_environments WHERE account_id = $1 AND status <> 'DELETED' ORDER BY id`;
    return this.#session.rows(text, [accountId]);
  }

  /** All but the deleted ones. */
  living(): Promise<EnvironmentRecord[]> {
    return this.#session.rows(`SELECT ${COLUMNS} FROM perdure_environments WHERE status <> 'DELETED' ORDER BY id`);
  }

  /** Returns the number of environments of each status, the deleted ones left out. */
  /** Environments that are not deleted. */
  async countByPlanAndStatus(): Promise<readonly { readonly plan: string; readonly status: string; readonly count: number }[]> {
    const text =
      "SELECT a.plan_id AS plan, e.status, count(*)::int AS count FROM perdure_environments e " +
      "JOIN perdure_accounts a ON a.id = e.account_id WHERE e.status <> 'DELETED' GROUP BY a.plan_id, e.status ORDER BY 1, 2";
    return await this.#session.rows<{ plan: string; status: string; count: number }>(text, []);
  }

  /** Returns the number of environments that count against the plan: those that are being deleted do not. */
  async countOf(accountId: AccountId): Promise<number> {
    const text =
      "SELECT count(*) AS count FROM perdure_environments WHERE account_id = $1 AND status NOT IN ('DELETING', 'DELETED')";
    return (await this.#session.row<{ count: number }>(text, [accountId]))?.count ?? 0;
  }

  /** Number of environments that still count against the limit, those that are being deleted included. */
  async countKept(accountId: AccountId): Promise<number> {
    const text = "SELECT count(*) AS count FROM perdure_environments WHERE account_id = $1 AND status <> 'DELETED'";
    return (await this.#session.row<{ count: number }>(text, [accountId]))?.count ?? 0;
  }

  /**
   * Undefined when its status does not allow the event; nothing is changed then. The new generation makes the operator reconcile the
   * runtime.
   */
  async take(id: EnvironmentId, step: StatusTransition): Promise<EnvironmentRecord | undefined> {
    const { event, nowMs, suspendedFor, eraseAtMs, failure } = step;
    const nextOf = statusesBefore(event).map((status) => [status, present(afterEvent(status, event))] as const);
    const values = [
      id,
      nextOf.map(([status]) => status),
      nextOf.map(([, next]) => next),
      nowMs,
      suspendedFor,
      eraseAtMs,
      failure,
      event === "provisioned",
    ];
    const text = `UPDATE perdure_environments SET
        status = ($3::text[])[array_position($2::text[], status)], changed_at_ms = $4,
        suspended_for = CASE WHEN ($3::text[])[array_position($2::text[], status)] = 'ACTIVE' THEN NULL ELSE coalesce($5, suspended_for) END,
        erase_at_ms = $6, failure = $7, tries = 0,
        generation = CASE WHEN $8 THEN generation ELSE generation + 1 END,
        last_traffic_at_ms = CASE WHEN ($3::text[])[array_position($2::text[], status)] = 'ACTIVE' THEN $4 ELSE last_traffic_at_ms END
      WHERE id = $1 AND status = ANY ($2) RETURNING ${COLUMNS}`;
    const record = await this.#session.row<EnvironmentRecord>(text, values);
    if (record !== undefined) await this.#session.notify({ kind: "environment", id });
    return record;
  }

  async update(
    id: EnvironmentId,
    change: Pick<EnvironmentRecord, "name" | "description" | "corsOrigins" | "forwardsForeignAuthorization">,
  ): Promise<void> {
    const text = `UPDATE perdure_environments SET name = $2, description = $3, cors_origins = $4, forwards_foreign_authorization = $5
      WHERE id = $1`;
    const { name, description, corsOrigins, forwardsForeignAuthorization } = change;
    await this.#session.write(text, [id, name, description, corsOrigins, forwardsForeignAuthorization]);
    await this.#session.notify({ kind: "environment", id });
  }

  async setThrottled(id: EnvironmentId, isThrottled: boolean): Promise<void> {
    await this.#session.write("UPDATE perdure_environments SET throttled = $2 WHERE id = $1", [id, isThrottled]);
    await this.#session.notify({ kind: "environment", id });
  }

  /** The desired state of its runtime has changed: its key, its limits. */
  async renew(id: EnvironmentId): Promise<void> {
    await this.#session.write("UPDATE perdure_environments SET generation = generation + 1 WHERE id = $1", [id]);
    await this.#session.notify({ kind: "environment", id });
  }

  /** Counts one more failure to create this generation of the runtime, and requests it again. */
  async failed(id: EnvironmentId, generation: number, reason: string): Promise<void> {
    const text = `UPDATE perdure_environments SET tries = tries + 1, generation = generation + 1, failure = $3
      WHERE id = $1 AND generation = $2`;
    await this.#session.write(text, [id, generation, reason]);
  }

  /** Stores the address at which the environment's runtime answers. */
  async setUpstream(id: EnvironmentId, upstream: SealedUpstream | undefined): Promise<void> {
    const text =
      "UPDATE perdure_environments SET upstream_ingress = $2, upstream_admin = $3, upstream_secret = $4, tries = 0 WHERE id = $1";
    await this.#session.write(text, [id, upstream?.ingress, upstream?.admin, upstream?.secret]);
    await this.#session.notify({ kind: "environment", id });
  }

  /** Stores the data key sealed with another key, and requests the runtime again; false when another process was faster. */
  async resealed(id: EnvironmentId, from: Uint8Array, to: Uint8Array): Promise<boolean> {
    const text = "UPDATE perdure_environments SET data_key = $3, generation = generation + 1 WHERE id = $1 AND data_key = $2";
    const isDone = (await this.#session.write(text, [id, from, to])) > 0;
    if (isDone) await this.#session.notify({ kind: "environment", id });
    return isDone;
  }

  /** Deletes its data key, so that everything sealed with it can never be read again (cloud.md §5.2, T29). */
  async shred(id: EnvironmentId): Promise<void> {
    const text = `UPDATE perdure_environments
      SET data_key = NULL, upstream_ingress = NULL, upstream_admin = NULL, upstream_secret = NULL WHERE id = $1`;
    await this.#session.write(text, [id]);
    await this.#session.write("UPDATE perdure_signing_keys SET private_key = NULL WHERE environment_id = $1", [id]);
    await this.#session.write("DELETE FROM perdure_usage_sources WHERE environment_id = $1", [id]);
  }
}
