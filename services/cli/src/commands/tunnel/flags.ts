/** Parses `--local-port` and `--remote-port` (cloud.md §2.9). */
import type { TunnelLocal } from "@perdure/tunnel";
import { InvalidArgumentError } from "commander";

/** A port of the environment, and the local port at which it is available. */
export interface RemotePortFlag {
  readonly remote: 8080 | 9070;
  readonly local: number;
}

/** `9080`, `9080:svc.lan`, `9080:svc.lan:8081`, `9080:[::1]:8081`. */
export function parseLocalPort(text: string): TunnelLocal {
  const match = /^(\d{1,5})(?::(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?)?$/.exec(text);
  const tunnelPort = portOf(match?.[1], text);
  const host = match?.[2] ?? "127.0.0.1";
  const port = match?.[3] === undefined ? tunnelPort : portOf(match[3], text);
  return { tunnelPort, host: host.startsWith("[") ? host.slice(1, -1) : host, port };
}

/** `8080`, `9070`, `8080:18080`. */
export function parseRemotePort(text: string): RemotePortFlag {
  const match = /^(8080|9070)(?::(\d{1,5}))?$/.exec(text);
  if (match === null) throw new InvalidArgumentError("It must be 8080 or 9070, with the port here behind it: 8080:18080.");
  const remote = match[1] === "8080" ? 8080 : 9070;
  return { remote, local: match[2] === undefined ? remote : portOf(match[2], text) };
}

function portOf(digits: string | undefined, text: string): number {
  const port = Number(digits);
  if (digits !== undefined && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError(`'${text}' is not PORT, PORT:HOST or PORT:HOST:PORT.`);
}
