/**
 * Signs the client address of requests that tenancy forwards from the console to gateways. Without it all browsers share one address at
 * the gateway, and one of them could use up the limit of that address for all. Only tenancy and gateways hold the keys.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { PerdureError, present } from "@perdure/base";

/** Address of the client and a signature of it. Gateways never forward it. */
export const FORWARDED_FOR_HEADER = "x-perdure-forwarded-for";
/** Clock skew that is accepted, and how long a captured header can be replayed: the header is sent at once. */
export const FORWARDED_SECONDS_MAX = 60;

const LINE = /^(\d{1,6})\s+([A-Za-z0-9+/]{43}=)$/;
const VALUE = /^(\d{1,6}) (\d{1,12}) ([0-9A-Fa-f:.]{2,45}) ([\w-]{43})$/;

/** Keys that tenancy and gateways share. */
export class ForwardingKeys {
  readonly #keys: ReadonlyMap<number, Uint8Array>;
  readonly #newest: number;

  private constructor(keys: ReadonlyMap<number, Uint8Array>) {
    this.#keys = keys;
    this.#newest = Math.max(...keys.keys());
  }

  /**
   * `text`: lines of a number and 32 bytes in base 64; `#` begins a comment. The highest number signs, all keys verify. Throws OPS0001
   * naming `setting`, never the text.
   */
  static parse(text: string, setting: string): ForwardingKeys {
    const keys = new Map<number, Uint8Array>();
    for (const [i, line] of text.split("\n").entries()) {
      const content = line.replace(/#.*/, "").trim();
      if (content === "") continue;
      const [, number, bytes = ""] = LINE.exec(content) ?? [];
      if (number === undefined || keys.has(Number(number))) {
        throw new PerdureError("OPS0001", `'${setting}': line ${i + 1} is not a number of its own and 32 bytes in base 64`);
      }
      // Derived, so that a file with keys for another purpose reveals nothing about them when it is used here by mistake.
      keys.set(
        Number(number),
        new Uint8Array(hkdfSync("sha256", Buffer.from(bytes, "base64"), "", "perdure forwarded requests", 32)),
      );
    }
    if (keys.size === 0) throw new PerdureError("OPS0001", `'${setting}': there is no key in the file`);
    return new ForwardingKeys(keys);
  }

  /** The header's value. `remote`: address as a socket reports it; `authority`: the host that the request names. */
  sign(remote: string, authority: string, nowMs: number): string {
    const address = remote.replace(/%.*$/, "");
    const seconds = Math.floor(nowMs / 1_000);
    const key = present(this.#keys.get(this.#newest));
    return `${this.#newest} ${seconds} ${address} ${proof(key, address, authority, seconds).toString("base64url")}`;
  }

  /** The address; undefined unless it was signed with one of these keys, for this host, within `FORWARDED_SECONDS_MAX`. */
  verify(value: string, authority: string, nowMs: number): string | undefined {
    const [, number, time, address = "", shown = ""] = VALUE.exec(value) ?? [];
    const key = this.#keys.get(Number(number));
    const seconds = Number(time);
    if (key === undefined || Math.abs(nowMs / 1_000 - seconds) > FORWARDED_SECONDS_MAX) return undefined;
    const isOurs = timingSafeEqual(Buffer.from(shown, "base64url"), proof(key, address, authority, seconds));
    return isOurs && isIP(address) !== 0 ? address : undefined;
  }
}

function proof(key: Uint8Array, address: string, authority: string, seconds: number): Buffer {
  return createHmac("sha256", key).update(`${seconds}\n${address}\n${authority.toLowerCase()}`).digest();
}
