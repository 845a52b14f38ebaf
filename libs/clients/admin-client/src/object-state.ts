/** State of one key: read as bytes, replaced as a whole, guarded by its version. */

import { replaceState } from "@perdure/admin-contract";
import type { ModifyState } from "@perdure/admin-contract/requests";
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

  /**
   * Replaces all entries after the handler that runs on the key has ended; an empty map clears the state. With `version`, only while the
   * state has this version. Rejects with `AdminApiError` 409 when the version differs now; when it differs only after a running handler has
   * ended, the edit is dropped.
   */
  async replace(
    service: string,
    key: string,
    entries: StateMap,
    version: string | undefined,
    { signal }: ApiCallOptions = {},
  ): Promise<void> {
    const json: z.input<typeof ModifyState> = {
      version: version ?? null,
      object_key: key,
      new_state: Object.fromEntries([...entries].map(([name, value]) => [name, Array.from(value)])),
    };
    try {
      await this.#api.send(replaceState, { service }, { json, signal });
    } catch (cause) {
      if (!(cause instanceof AdminApiError) || cause.status !== 409) throw cause;
      const advice = "It was changed meanwhile: read it again and repeat the change, or use --force.";
      throw new AdminApiError(409, cause.message, { code: cause.code, advice, requestId: cause.requestId, cause });
    }
  }
}
