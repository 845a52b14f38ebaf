/**
 * Why: tenancy carries requests of the console to gateways, for which all people at browsers were one address: one of them could spend
 * what an address may do for everybody. So tenancy says whose request it is, in a way that nobody else can.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { PerdureError } from "@perdure/base";

/** Where the request came from, and a proof of it. Gateways pass it on to nobody. */
export const FORWARDED_FOR_HEADER = "x-perdure-forwarded-for";
/** How far clocks may be apart, and how long a proof is of use to somebody who has seen it: it is sent at once. */
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
   * `text`: lines of a number and 32 bytes in base 64; `#` begins a comment. The highest signs, all are believed. Throws OPS0001 naming
   * `setting`, never the text.
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
      // Derived, so that somebody who takes a file that is there for something else reveals nothing of that.
      keys.set(
        Number(number),
        new Uint8Array(hkdfSync("sha256", Buffer.from(bytes, "base64"), "", "perdure forwarded requests", 32)),
      );
    }
    if (keys.size === 0) throw new PerdureError("OPS0001", `'${setting}': there is no key in the file`);
    return new ForwardingKeys(keys);
  }

  /** The header's value. `remote` as a socket tells it; `authority`: the host that the request names. */
  sign(remote: string, authority: string, nowMs: number): string {
    const address = remote.replace(/%.*$/, "");
    const seconds = Math.floor(nowMs / 1_000);
    const key = this.#keys.get(this.#newest) as Uint8Array;
    return `${this.#newest} ${seconds} ${address} ${proof(key, address, authority, seconds).toString("base64url")}`;
  }

  /** The address; undefined when it was not signed here, for this host, just now. */
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
