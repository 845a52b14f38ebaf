/**
 * Tokens of logins and their scope, in one file that only the user can read (cloud.md §1.7, T33). The refresh token is stored only here.
 * Each login belongs to one Cloud API and has the addresses that this API returned: its tokens are sent only there (T34).
 */
import { join } from "node:path";
import type { Clock } from "@perdure/base";
import { z } from "zod";
import { FAILED, fail } from "../errors.js";
import { CONFIG_BYTES_MAX } from "../limits.js";
import { readText, writeTextAtomically } from "./atomic-file.js";
import { withLock } from "./file-lock.js";

const loginShape = z.object({
  accessToken: z.string(),
  refreshToken: z.string(),
  expiresAtMs: z.number(),
  userId: z.string(),
  email: z.string(),
  /** The account in use, for commands that name none. */
  accountId: z.string().optional(),
  /** Origins of environments, as the API returned them. */
  origins: z.array(z.string()).default([]),
});
const credentialsShape = z.object({
  version: z.literal(1),
  /** Origin of the Cloud API in use. */
  current: z.string().optional(),
  /** Folder of the official command line's files, if one was chosen. */
  officialFolder: z.string().optional(),
  /** Logins by the origin of the Cloud API. */
  logins: z.record(z.string(), loginShape).default({}),
});

export type StoredLogin = z.output<typeof loginShape>;
export type StoredCredentials = z.output<typeof credentialsShape>;

export class CredentialsStore {
  readonly path: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock) {
    this.path = join(folder, "credentials.json");
    this.#clock = clock;
  }

  read(): StoredCredentials {
    const text = readText(this.path, CONFIG_BYTES_MAX);
    if (text === undefined) return { version: 1, logins: {} };
    const advice = `Remove ${this.path} and log in again: perdure login`;
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch (cause) {
      fail(FAILED, `${this.path} is damaged`, advice, cause);
    }
    const parsed = credentialsShape.safeParse(json);
    return parsed.success ? parsed.data : fail(FAILED, `${this.path} is not of this version of perdure`, advice, parsed.error);
  }

  /** Reads, changes and writes under the lock; resolves with the result of `change`. */
  async update<T>(change: (credentials: StoredCredentials) => T | Promise<T>): Promise<T> {
    return await withLock(`${this.path}.lock`, this.#clock, async () => {
      const credentials = this.read();
      const before = JSON.stringify(credentials);
      const result = await change(credentials);
      if (JSON.stringify(credentials) !== before)
        writeTextAtomically(this.path, `${JSON.stringify(credentials, undefined, 2)}\n`);
      return result;
    });
  }
}
