/**
 * Seals and salts the secrets in the database, with keys that are not in it. They come from one file with a line for each version; the
 * highest version is used for new secrets, and the others stay in the file while anything is sealed with them.
 */
import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { PerdureError, present, type Random, type Secret } from "@perdure/base";
import { type EnvironmentId, parseEnvironmentId } from "@perdure/cloud";
import { numberOf, open, seal } from "./seal.js";

interface KeyRingVersion {
  readonly number: number;
  /** Seals data keys and token keys. */
  readonly seals: Uint8Array;
  /** Prefix of secrets that are hashed. */
  readonly pepper: Uint8Array;
  /** Makes the tokens by which relays identify runtimes. */
  readonly names: Uint8Array;
}

const LINE = /^(\d{1,6})\s+([A-Za-z0-9+/]{43}=)$/;
const TUNNEL_TOKEN = /^rt_(\d{1,6})_(env_2[0-7][0-9a-hjkmnp-tv-z]{25})_([A-Za-z0-9_-]{43})$/;

export class KeyRing {
  readonly #versions: ReadonlyMap<number, KeyRingVersion>;
  readonly #newest: KeyRingVersion;

  private constructor(versions: ReadonlyMap<number, KeyRingVersion>, newest: KeyRingVersion) {
    this.#versions = versions;
    this.#newest = newest;
  }

  /** `text`: lines of a number and 32 bytes in base 64; `#` begins a comment. Throws OPS0001 naming `setting`, never the text. */
  static parse(text: string, setting: string): KeyRing {
    const versions = new Map<number, KeyRingVersion>();
    for (const [i, line] of text.split("\n").entries()) {
      const content = line.replace(/#.*/, "").trim();
      if (content === "") continue;
      const match = LINE.exec(content);
      if (match === null)
        throw new PerdureError("OPS0001", `'${setting}': line ${i + 1} is not a number and 32 bytes in base 64`);
      const number = Number(match[1]);
      if (versions.has(number)) throw new PerdureError("OPS0001", `'${setting}': there are two lines with the number ${number}`);
      versions.set(number, derived(number, Buffer.from(present(match[2]), "base64")));
    }
    const newest = versions.get(Math.max(...versions.keys()));
    if (newest === undefined) throw new PerdureError("OPS0001", `'${setting}': there is no key in the file`);
    return new KeyRing(versions, newest);
  }

  /** `context`: what the bytes are; `open` fails with another context. */
  seal(bytes: Uint8Array, context: string, random: Random): Uint8Array {
    return seal(bytes, this.#newest.number, this.#newest.seals, context, random);
  }

  /** Throws STO0003 when the bytes were sealed with another context, or with a version that is not in the file. */
  open(sealed: Uint8Array, context: string): Uint8Array {
    return open(sealed, (number) => this.#versions.get(number)?.seals, context);
  }

  /** The version that is used for new secrets. */
  get newest(): number {
    return this.#newest.number;
  }

  /** Whether the bytes are sealed with the newest version. */
  isNewest(sealed: Uint8Array): boolean {
    return numberOf(sealed) === this.#newest.number;
  }

  /** The hash to store for a new secret. */
  hash(secret: Secret): { readonly hash: Uint8Array; readonly pepperVersion: number } {
    return { hash: peppered(this.#newest, secret), pepperVersion: this.#newest.number };
  }

  /** Compares in constant time; false as well when the version is not in the file. */
  matches(secret: Secret, hash: Uint8Array, pepperVersion: number): boolean {
    const version = this.#versions.get(pepperVersion);
    return version !== undefined && hash.length === 32 && timingSafeEqual(peppered(version, secret), hash);
  }

  /** The token that the runtime of an environment sends to the proxy of a relay. */
  tunnelToken(environmentId: EnvironmentId): string {
    return `rt_${this.#newest.number}_${environmentId}_${named(this.#newest, environmentId).toString("base64url")}`;
  }

  /** Undefined unless `tunnelToken` made it. */
  environmentOfToken(token: string): EnvironmentId | undefined {
    const [, number, id = "", proof = ""] = TUNNEL_TOKEN.exec(token) ?? [];
    const version = this.#versions.get(Number(number));
    const environmentId = parseEnvironmentId(id);
    if (version === undefined || environmentId === undefined) return undefined;
    const given = Buffer.from(proof, "base64url");
    return given.length === 32 && timingSafeEqual(given, named(version, environmentId)) ? environmentId : undefined;
  }
}

function derived(number: number, key: Buffer): KeyRingVersion {
  const part = (use: string) => new Uint8Array(hkdfSync("sha256", key, new Uint8Array(), `perdure tenancy ${use}`, 32));
  return { number, seals: part("seals"), pepper: part("pepper"), names: part("names") };
}

function peppered({ pepper }: KeyRingVersion, secret: Secret): Uint8Array {
  return createHash("sha256").update(pepper).update(secret.reveal()).digest();
}

function named({ names }: KeyRingVersion, environmentId: EnvironmentId): Buffer {
  return createHmac("sha256", names).update(environmentId).digest();
}
