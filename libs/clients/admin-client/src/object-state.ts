/** State of one key: read as bytes, replaced as a whole, guarded by its version. */

import { OPERATION_HEADER, replaceState, setStateTtl } from "@perdure/admin-contract";
import type { ModifyState, ModifyStateTtl } from "@perdure/admin-contract/requests";
import { formatDuration } from "@perdure/base/duration";
import type { z } from "zod";
import type { ApiCallOptions, ApiClient } from "./api-client.js";
import { AdminApiError } from "./api-error.js";
import type { SqlApi } from "./sql.js";
import { sqlText } from "./sql-text.js";
import { bytesOfHex, type StateMap, stateVersion } from "./state.js";

export interface KeyState {
  readonly entries: StateMap;
  /** Version of exactly these entries. */
  readonly version: string;
}

/** When the state of an object expires unless it is changed before; times are RFC 3339, the duration is friendly. */
export interface KeyExpiry {
  readonly ttl: string;
  /** Whether the object has a time to live of its own, or that of its service. */
  readonly ttl_source: string;
  readonly changed_at: string;
  readonly expires_at: string;
}

export class ObjectStateApi {
  readonly #api: ApiClient;
  readonly #sql: SqlApi;

  constructor(api: ApiClient, sql: SqlApi) {
    this.#api = api;
    this.#sql = sql;
  }

  /** Reads the state; empty when there is none. */
  async read(service: string, key: string, options: ApiCallOptions = {}): Promise<KeyState> {
    const where = `service_name = ${sqlText(service)} AND service_key = ${sqlText(key)}`;
    const rows = await this.#sql.query(`SELECT key, value FROM state WHERE ${where}`, options);
    const entries = new Map(
      rows.map(({ key: name, value }) => [String(name), bytesOfHex(typeof value === "string" ? value : "")]),
    );
    return { entries, version: stateVersion(entries) };
  }

  /** Keys of a service that have state, in order, at most `limit`. */
  async keys(
    service: string,
    limit: number,
    options: ApiCallOptions = {},
  ): Promise<readonly { key: string; entries: number; bytes: number }[]> {
    const rows = await this.#sql.query(
      `SELECT service_key, count(1) AS entries, sum(value_length) AS bytes FROM state WHERE service_name = ${sqlText(service)} ` +
        `GROUP BY service_key ORDER BY service_key LIMIT ${Math.floor(limit)}`,
      options,
    );
    return rows.map((row) => ({
      key: String(row["service_key"] ?? ""),
      entries: Number(row["entries"]),
      bytes: Number(row["bytes"] ?? 0),
    }));
  }

  /** Returns when the state expires; undefined when it does not. */
  async expiry(service: string, key: string, options: ApiCallOptions = {}): Promise<KeyExpiry | undefined> {
    const where = `service_name = ${sqlText(service)} AND service_key = ${sqlText(key)}`;
    const columns = "epoch(ttl) * 1000 AS ttl_ms, ttl_source, changed_at, expires_at";
    const [row] = await this.#sql.query(`SELECT ${columns} FROM sys_state_expiry WHERE ${where}`, options);
    if (row === undefined) return undefined;
    return {
      ttl: formatDuration(Number(row["ttl_ms"])),
      ttl_source: String(row["ttl_source"]),
      changed_at: String(row["changed_at"]),
      expires_at: String(row["expires_at"]),
    };
  }

  /** Gives one object a time to live of its own from now on, or with `null` that of its service. It ends with the state. */
  async setTtl(service: string, key: string, ttl: string | null, { signal }: ApiCallOptions = {}): Promise<void> {
    const json: z.input<typeof ModifyStateTtl> = { object_key: key, ttl };
    await this.#api.send(setStateTtl, { service }, { json, signal });
  }

  /**
   * Replaces all entries after the handler that runs on the key has ended; an empty map clears the state. With `version`, only while the
   * state has this version. Rejects with `AdminApiError` 409 when the version differs now; when it differs only after a running handler has
   * ended, the edit is dropped. Resolves with the id of the operation with which the edit can be undone; undefined when it cannot.
   */
  async replace(
    service: string,
    key: string,
    entries: StateMap,
    version: string | undefined,
    { signal }: ApiCallOptions = {},
  ): Promise<string | undefined> {
    const json: z.input<typeof ModifyState> = {
      version: version ?? null,
      object_key: key,
      new_state: Object.fromEntries([...entries].map(([name, value]) => [name, Array.from(value)])),
    };
    try {
      return (await this.#api.send(replaceState, { service }, { json, signal })).header(OPERATION_HEADER);
    } catch (cause) {
      if (!(cause instanceof AdminApiError) || cause.status !== 409) throw cause;
      const advice = "It was changed meanwhile: read it again and repeat the change, or use --force.";
      throw new AdminApiError(409, cause.message, { code: cause.code, advice, requestId: cause.requestId, cause });
    }
  }
}
