/**
 * Port of the metadata store: JSON documents under string keys, each with a version, and atomic writes of several documents.
 * Deployments, subscriptions, accounts and keys change rarely, are small, and must never be half written.
 */

/** Values that JSON can hold. Fields that are `undefined` are dropped, as by `JSON.stringify`. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined };

/**
 * A stored document. `version` is the number of the write that put it, counted over the whole store from 1 and never reused,
 * so a document that was deleted and made again has another version.
 */
export interface Document {
  readonly key: string;
  readonly version: number;
  readonly value: Json;
}

/**
 * `value`: what JSON can hold; members of objects that are `undefined` are left out.
 * `expectedVersion`: 0 = the key must not exist, `undefined` = any version.
 */
export type DocumentWrite =
  | { readonly kind: "put"; readonly key: string; readonly value: Json | object; readonly expectedVersion: number | undefined }
  | { readonly kind: "delete"; readonly key: string; readonly expectedVersion: number | undefined };

/** `actualVersion` is 0 when the key does not exist. The outcome has the first expectation that failed, in the order of the writes. */
export type WriteOutcome =
  | { readonly kind: "written"; readonly version: number }
  | { readonly kind: "conflict"; readonly key: string; readonly actualVersion: number };

/**
 * Every method rejects with `PerdureError` STO0001 when the storage fails, STO0003 when what it holds cannot be read, and with
 * `InvariantError` when a bound of `limits.ts` is broken. Expectations are about the state before the write; a key appears at
 * most once in a write.
 */
export interface MetadataStore extends AsyncDisposable {
  get(key: string): Promise<Document | undefined>;
  /** Returns all documents whose key starts with `prefix`, ascending by UTF-8 bytes of the key. One consistent view. */
  list(prefix: string): Promise<readonly Document[]>;
  /**
   * Writes all or nothing; durable when it resolves with `written`. An empty list changes nothing and resolves with the present
   * version.
   */
  write(writes: readonly DocumentWrite[]): Promise<WriteOutcome>;
}
