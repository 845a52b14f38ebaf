/** SQL introspection, with rows as JSON. A null column is absent from its row. */
import { RowsShape, runQuery, tolerant } from "@perdure/admin-contract";
import type { ApiCallOptions, ApiClient } from "./api-client.js";

export type SqlRow = Readonly<Record<string, unknown>>;

export class SqlApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** The rows of one statement. Times are RFC 3339, bytes hexadecimal digits. Rejects with `AdminApiError`. */
  async query(statement: string, { signal }: ApiCallOptions = {}): Promise<readonly SqlRow[]> {
    const request = { json: { query: statement }, signal, isRepeatable: true };
    return (await this.#api.call(runQuery, {}, request)).rows;
  }

  /**
   * As `query`, but integers beyond the safe range of JavaScript's numbers are `bigint` where the JavaScript engine provides the source
   * text.
   */
  async exact(statement: string, { signal }: ApiCallOptions = {}): Promise<readonly SqlRow[]> {
    const request = { json: { query: statement }, signal, isRepeatable: true };
    const response = await this.#api.send(runQuery, {}, request);
    return tolerant(RowsShape).parse(JSON.parse(new TextDecoder().decode(response.body), exactInteger)).rows;
  }
}

/** A reviver; its third argument is newer than the library's types. */
function exactInteger(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const digits = context?.source;
  const isInexact = typeof value === "number" && !Number.isSafeInteger(value);
  return isInexact && digits !== undefined && /^-?\d+$/.test(digits) ? BigInt(digits) : value;
}
