/**
 * The first exchange on a connection, byte for byte as official clients and servers have it (cloud.md §2.3): the relay requests `GET
 * /_/start-tunnel`, the client answers with its credential in headers, and the relay sends the status as trailers of its request.
 */
import { CREDENTIAL_CHARS_MAX, LABEL_CHARS_MAX, PORTS_MAX } from "./limits.js";

export const START_TUNNEL_PATH = "/_/start-tunnel";
export const HEALTH_PATH = "/_/health";
export const DRAIN_PATH = "/_/drain-tunnel";

/** Header of an answer: the request was not executed, because the client is draining. */
export const DRAINING_HEADER = "x-restate-tunnel-draining";
/** Header of a request: the HTTP version for the service behind the tunnel, `HTTP/1.1` or `HTTP/2.0`. */
export const HTTP_VERSION_HEADER = "x-restate-tunnel-http-version";
/** Header with the token that identifies the environment of the calling runtime to a relay's proxy. */
export const RUNTIME_TOKEN_HEADER = "x-perdure-tunnel-token";
/** Header of a request that another relay forwarded; it is not forwarded again. */
export const HOP_HEADER = "x-perdure-tunnel-hop";

export const tunnelStatuses = ["ok", "unauthorized", "bad-tunnel-name", "too-many-tunnels"] as const;
export type TunnelStatus = (typeof tunnelStatuses)[number];

/** The client's answer to the handshake request. */
export interface TunnelHello {
  readonly credential: string;
  readonly environmentId: string;
  /** Undefined: the relay generates a name. */
  readonly name: string | undefined;
  /** The client opens a replacement when it is notified of a drain. */
  readonly supportsDrain: boolean;
  /** The client marks answers to requests that it did not execute because it is draining. */
  readonly supportsClientDrain: boolean;
  readonly workerId: string | undefined;
  readonly connectionId: string | undefined;
  /** `perdure/<version>`; undefined for official clients. */
  readonly client: string | undefined;
  /** Ports of `tunnel://` that the client serves; undefined when it declares none. */
  readonly ports: readonly number[] | undefined;
}

type HandshakeHeaders = Readonly<Record<string, string | string[] | number | undefined>>;

export function helloHeaders(hello: TunnelHello): Record<string, string> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${hello.credential}`,
    "environment-id": hello.environmentId,
  };
  if (hello.name !== undefined) headers["tunnel-name"] = hello.name;
  if (hello.supportsDrain) headers["supports-drain"] = "true";
  if (hello.supportsClientDrain) headers["supports-client-drain"] = "true";
  if (hello.workerId !== undefined) headers["tunnel-worker-id"] = hello.workerId;
  if (hello.connectionId !== undefined) headers["tunnel-connection-id"] = hello.connectionId;
  if (hello.client !== undefined) headers["tunnel-client"] = hello.client;
  if (hello.ports !== undefined) headers["tunnel-ports"] = hello.ports.join(",");
  return headers;
}

/** Undefined when there is no credential or no environment: the client cannot be authenticated. */
export function parseHello(headers: HandshakeHeaders): TunnelHello | undefined {
  const credential = /^bearer ([\x21-\x7e]+)$/i.exec(textOf(headers["authorization"], CREDENTIAL_CHARS_MAX) ?? "")?.[1];
  const environmentId = textOf(headers["environment-id"], LABEL_CHARS_MAX);
  if (credential === undefined || environmentId === undefined) return undefined;
  return {
    credential,
    environmentId,
    // A name that is too long is passed on and refused as a bad name.
    name: textOf(headers["tunnel-name"], Number.MAX_SAFE_INTEGER),
    supportsDrain: headers["supports-drain"] === "true",
    supportsClientDrain: headers["supports-client-drain"] === "true",
    workerId: textOf(headers["tunnel-worker-id"], LABEL_CHARS_MAX),
    connectionId: textOf(headers["tunnel-connection-id"], LABEL_CHARS_MAX),
    client: textOf(headers["tunnel-client"], LABEL_CHARS_MAX),
    ports: portsOf(textOf(headers["tunnel-ports"], PORTS_MAX * 6)),
  };
}

/** The relay's answer; the addresses are present only when the status is `ok`. */
export type TunnelWelcome =
  | { readonly status: "ok"; readonly name: string; readonly proxyUrl: string; readonly tunnelUrl: string }
  | { readonly status: Exclude<TunnelStatus, "ok"> };

export function welcomeTrailers(welcome: TunnelWelcome): Record<string, string> {
  if (welcome.status !== "ok") return { "tunnel-status": welcome.status };
  const { name, proxyUrl, tunnelUrl } = welcome;
  return { "tunnel-status": "ok", "proxy-url": proxyUrl, "tunnel-url": tunnelUrl, "tunnel-name": name };
}

/** Undefined when the trailers have no known status. */
export function parseWelcome(trailers: HandshakeHeaders): TunnelWelcome | undefined {
  const status = tunnelStatuses.find((one) => one === trailers["tunnel-status"]);
  if (status === undefined || status !== "ok") return status === undefined ? undefined : { status };
  const name = trailers["tunnel-name"];
  const proxyUrl = trailers["proxy-url"];
  const tunnelUrl = trailers["tunnel-url"];
  if (typeof name !== "string" || typeof proxyUrl !== "string" || typeof tunnelUrl !== "string") return undefined;
  return { status, name, proxyUrl, tunnelUrl };
}

function textOf(value: string | string[] | number | undefined, charsMax: number): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= charsMax ? value : undefined;
}

function portsOf(text: string | undefined): readonly number[] | undefined {
  if (text === undefined || !/^\d{1,5}(,\d{1,5})*$/.test(text)) return undefined;
  const ports = text.split(",").map(Number);
  return ports.length > PORTS_MAX ? undefined : ports;
}
