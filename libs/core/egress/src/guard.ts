/**
 * Admits each connection on its own, because a name may resolve to another address a moment later (DNS rebinding): the host is checked,
 * its name is resolved here, every resolved address must be allowed, and the connection uses one of those addresses. The guard opens no
 * socket: the caller passes the `lookup` of the admission to Node.
 */
import { ANSWERS_MAX, CONNECTIONS_PER_HOST_MAX } from "./limits.js";
import { checkEndpoint, checkOrigin, checkUrl, type EgressDecision, type EgressRules, refusalOfAddress } from "./policy.js";

/** The only text that users see of a refusal. */
export const DESTINATION_NOT_ALLOWED = "destination not allowed";
/** `code` of errors with that text. */
export const EGRESS_DENIED_CODE = "ERR_EGRESS_DENIED";

export class EgressDenied extends Error {
  override readonly name = "EgressDenied";
  readonly code = EGRESS_DENIED_CODE;

  constructor() {
    super(DESTINATION_NOT_ALLOWED);
  }
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves all addresses of a name; `dns.lookup` with `all` is one implementation. */
type Resolve = (hostname: string, done: (error: Error | null, addresses: readonly ResolvedAddress[]) => void) => void;

interface LookupOptions {
  readonly all?: boolean | undefined;
  readonly family?: number | "IPv4" | "IPv6" | undefined;
}

type LookupDone = (error: Error | null, address: string | { address: string; family: number }[], family?: number) => void;

/** Replaces `dns.lookup` in the options of node:net, node:tls and modules built on them. */
export type DnsLookup = (hostname: string, options: LookupOptions, done: LookupDone) => void;

export type EgressAdmission =
  | { readonly kind: "denied" }
  /** The host has reached its limit of connections. */
  | { readonly kind: "full" }
  /** Call `release` once, when the connection is closed. */
  | { readonly kind: "admitted"; readonly host: string; readonly lookup: DnsLookup; readonly release: () => void };

export interface EgressGuard {
  /** Whether the URL is allowed as it is written, before its name is resolved. */
  allows(url: string): boolean;
  /** Admits or refuses a new connection to `scheme://host:port`, whose URL `allows` has checked before. */
  admitOrigin(origin: string): EgressAdmission;
  /** Admits or refuses a new connection that is not HTTP. */
  admitEndpoint(host: string, port: number): EgressAdmission;
}

interface EgressPorts {
  readonly resolve: Resolve;
  /** Called for the log with each refused destination and the reason. */
  readonly onDenied: (destination: string, reason: string) => void;
}

export function createEgressGuard(rules: EgressRules, ports: EgressPorts): EgressGuard {
  return new RuleGuard(rules, ports);
}

class RuleGuard implements EgressGuard {
  readonly #rules: EgressRules;
  readonly #ports: EgressPorts;
  /** Open connections by host; without entries for hosts that have none. */
  readonly #connections = new Map<string, number>();

  constructor(rules: EgressRules, ports: EgressPorts) {
    this.#rules = rules;
    this.#ports = ports;
  }

  allows(url: string): boolean {
    return this.#report(url, checkUrl(this.#rules, url)).kind === "allowed";
  }

  admitOrigin(origin: string): EgressAdmission {
    return this.#admit(this.#report(origin, checkOrigin(this.#rules, origin)));
  }

  admitEndpoint(host: string, port: number): EgressAdmission {
    return this.#admit(this.#report(`${host}:${port}`, checkEndpoint(this.#rules, host, port)));
  }

  #report(destination: string, decision: EgressDecision): EgressDecision {
    if (decision.kind === "denied") this.#ports.onDenied(destination, decision.reason);
    return decision;
  }

  #admit(decision: EgressDecision): EgressAdmission {
    if (decision.kind === "denied") return decision;
    const { host, isTrusted } = decision;
    const count = this.#connections.get(host) ?? 0;
    if (count >= CONNECTIONS_PER_HOST_MAX) return { kind: "full" };
    this.#connections.set(host, count + 1);
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#connections.get(host) ?? 1) - 1;
      if (left > 0) this.#connections.set(host, left);
      else this.#connections.delete(host);
    };
    return { kind: "admitted", host, lookup: isTrusted ? this.#trustedLookup : this.#checkedLookup, release };
  }

  readonly #checkedLookup: DnsLookup = (hostname, options, done) => {
    this.#ports.resolve(hostname, (error, addresses) => {
      if (error !== null) return done(error, "");
      const reason = this.#refusal(addresses);
      if (reason === undefined) return answer(hostname, addresses, options, done);
      this.#ports.onDenied(hostname, reason);
      done(new EgressDenied(), "");
    });
  };

  readonly #trustedLookup: DnsLookup = (hostname, options, done) => {
    this.#ports.resolve(hostname, (error, addresses) =>
      error === null ? answer(hostname, addresses, options, done) : done(error, ""),
    );
  };

  /** Refuses the name when one of its addresses is refused, because the guard does not choose which of them is used. */
  #refusal(addresses: readonly ResolvedAddress[]): string | undefined {
    if (addresses.length > ANSWERS_MAX) return `more than ${ANSWERS_MAX} addresses`;
    for (const { address } of addresses) {
      const reason = refusalOfAddress(this.#rules, address);
      if (reason !== undefined) return `leads to ${address}: ${reason}`;
    }
    return undefined;
  }
}

function answer(hostname: string, addresses: readonly ResolvedAddress[], { all, family }: LookupOptions, done: LookupDone): void {
  const requiredFamily = family === 4 || family === "IPv4" ? 4 : family === 6 || family === "IPv6" ? 6 : undefined;
  const fitting = addresses.filter((one) => requiredFamily === undefined || one.family === requiredFamily);
  const [first] = fitting;
  if (first === undefined) return done(notFound(hostname), "");
  if (all === true)
    return done(
      null,
      fitting.map(({ address, family: of }) => ({ address, family: of })),
    );
  done(null, first.address, first.family);
}

function notFound(hostname: string): Error {
  return Object.assign(new Error(`there is no address for ${hostname}`), { code: "ENOTFOUND" });
}
