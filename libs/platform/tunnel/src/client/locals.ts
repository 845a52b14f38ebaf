/**
 * The destinations that the owner of a tunnel allows. All others are refused: every holder of a key of the environment could name any host
 * (T27).
 */
import { PerdureError } from "@perdure/base";
import { type Destination, originOf } from "../destination.js";
import type { TunnelLocal } from "./options.js";

/** A local service that requests are forwarded to. */
export interface LocalService {
  readonly scheme: "http" | "https";
  /** Host; an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  /** Value of the header `host`. */
  readonly authority: string;
}

/** Hosts in requests that mean the machine of the client. */
const THIS_MACHINE: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]", "in-process"]);

export class Locals {
  readonly #byPort = new Map<number, TunnelLocal>();
  readonly #allowed: ReadonlySet<string>;
  /** Whole domains: `http://*.svc.cluster.local:9080`. */
  readonly #domains: readonly Domain[];

  /** Throws OPS0001 when `allow` has an entry that is neither `http://host:port` nor `http://*.suffix:port`. */
  constructor(locals: readonly TunnelLocal[], allow: readonly string[]) {
    for (const local of locals) this.#byPort.set(local.tunnelPort, local);
    const domains = allow.map(allowedDomain);
    this.#domains = domains.filter((domain) => domain !== undefined);
    this.#allowed = new Set(allow.filter((_, at) => domains[at] === undefined).map(allowedOrigin));
  }

  /** Ports of this machine in `tunnel://` addresses, which the client declares to the relay. */
  get ports(): readonly number[] {
    const allowed = [...this.#allowed].flatMap((origin) => /^https?:\/\/localhost:(\d+)$/.exec(origin)?.[1] ?? []);
    return [...new Set([...this.#byPort.keys(), ...allowed.map(Number)])];
  }

  /** Undefined when the destination is not allowed. */
  find(destination: Destination): LocalService | undefined {
    const { scheme, host, port } = destination;
    const local = THIS_MACHINE.has(host.toLowerCase()) ? this.#byPort.get(port) : undefined;
    if (local !== undefined) return service(scheme, local.host, local.port);
    const isAllowed = this.#allowed.has(originOf(destination).toLowerCase()) || this.#isInDomain(destination);
    return isAllowed ? service(scheme, host, port) : undefined;
  }

  #isInDomain({ scheme, host, port }: Destination): boolean {
    const name = host.toLowerCase();
    return this.#domains.some(
      (one) => one.scheme === scheme && one.port === port && name.endsWith(one.suffix) && HOST.test(name),
    );
  }
}

function service(scheme: "http" | "https", host: string, port: number): LocalService {
  const bare = host.startsWith("[") ? host.slice(1, -1) : host;
  return { scheme, host: bare, port, authority: `${bare.includes(":") ? `[${bare}]` : bare}:${port}` };
}

interface Domain {
  readonly scheme: string;
  /** Begins with a dot. */
  readonly suffix: string;
  readonly port: number;
}

const HOST = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/;

/**
 * Parses `http://*.suffix[:port]`; undefined for anything else. A suffix of one label is refused, because it would allow a whole top-level
 * domain.
 */
function allowedDomain(text: string): Domain | undefined {
  const match = /^(https?):\/\/\*((?:\.[A-Za-z0-9_-]+){2,})(?::(\d{1,5}))?\/?$/.exec(text);
  if (match === null) return undefined;
  const [, scheme = "", suffix = "", port] = match;
  return { scheme, suffix: suffix.toLowerCase(), port: Number(port ?? (scheme === "https" ? 443 : 80)) };
}

function allowedOrigin(text: string): string {
  const match = /^(https?):\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?\/?$/.exec(text);
  if (match === null) throw new PerdureError("OPS0001", `'${text}' cannot be allowed; write http://host:port`);
  const [, scheme, host, port] = match;
  return `${scheme}://${host}:${port ?? (scheme === "https" ? 443 : 80)}`.toLowerCase();
}
