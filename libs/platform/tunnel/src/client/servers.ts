/** Parses addresses of relays, from URLs or SRV records, into host, port and the name in the certificate. */
import { lookup, resolveSrv as systemResolveSrv } from "node:dns/promises";
import { PerdureError, present } from "@perdure/base";
import { SERVERS_MAX } from "../limits.js";
import type { SrvRecord } from "./options.js";

export interface RelayServer {
  readonly host: string;
  readonly port: number;
  /** Undefined: no TLS. */
  readonly serverName: string | undefined;
  /** Name in events and logs; equal labels are the same relay. */
  readonly label: string;
}

const TUNNEL_PORT = 9090;

/** Throws OPS0001 when the text is not an address of a relay. */
export function parseServer(text: string): RelayServer {
  const withScheme = text.includes("://") ? text : `tls://${text}`;
  const match = /^(tls|https|http):\/\/(\[[0-9A-Fa-f:.]+\]|[^/:?#@\s]+)(?::(\d{1,5}))?\/?$/.exec(withScheme);
  const port = match?.[3] === undefined ? TUNNEL_PORT : Number(match[3]);
  if (match === null || port < 1 || port > 65_535) {
    throw new PerdureError("OPS0001", `'${text}' is not a tunnel server; write host:port, tls://host:port or http://host:port`);
  }
  const written = present(match[2]);
  const host = written.startsWith("[") ? written.slice(1, -1) : written;
  return { host, port, serverName: match[1] === "http" ? undefined : host, label: withScheme.replace(/\/$/, "") };
}

/**
 * One relay for each address of each record, as official clients do. TLS uses the queried name. Rejects when the SRV query fails; a record
 * whose name has no address is left out.
 */
export async function resolveServers(
  srv: string,
  resolveSrv: (name: string) => Promise<readonly SrvRecord[]> = systemResolveSrv,
): Promise<readonly RelayServer[]> {
  const servers = new Map<string, RelayServer>();
  for (const { name, port } of await resolveSrv(srv)) {
    for (const address of await addressesOf(name)) {
      const label = `tls://${address.includes(":") ? `[${address}]` : address}:${port}`;
      if (servers.size < SERVERS_MAX) servers.set(label, { host: address, port, serverName: srv.replace(/\.$/, ""), label });
    }
  }
  return [...servers.values()];
}

async function addressesOf(name: string): Promise<readonly string[]> {
  try {
    return (await lookup(name, { all: true })).map(({ address }) => address);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOTFOUND" || code === "ENODATA") return [];
    throw cause;
  }
}
