/**
 * Why: the first exchange on a connection, byte for byte as official clients and servers have it (cloud.md §2.3): the relay asks
 * `GET /_/start-tunnel`, the client answers with its credential in headers, the relay's verdict follows as trailers of its request.
 */
import { CREDENTIAL_CHARS_MAX, LABEL_CHARS_MAX, PORTS_MAX } from "./limits.js";

export const START_TUNNEL_PATH = "/_/start-tunnel";
export const HEALTH_PATH = "/_/health";
export const DRAIN_PATH = "/_/drain-tunnel";

/** Of an answer: the request was not executed, the client is leaving. */
export const DRAINING_HEADER = "x-restate-tunnel-draining";
/** Of a request: what is spoken to the service behind, `HTTP/1.1` or `HTTP/2.0`. */
export const HTTP_VERSION_HEADER = "x-restate-tunnel-http-version";
/** Shows a relay's proxy which environment's runtime calls. */
export const RUNTIME_TOKEN_HEADER = "x-perdure-tunnel-token";
/** A relay has passed the request on to another one: it goes no further. */
export const HOP_HEADER = "x-perdure-tunnel-hop";

export const tunnelStatuses = ["ok", "unauthorized", "bad-tunnel-name", "too-many-tunnels"] as const;
export type TunnelStatus = (typeof tunnelStatuses)[number];

/** What a client says of itself. */
export interface TunnelHello {
  readonly credential: string;
  readonly environmentId: string;
  /** Undefined: the relay gives it one. */
  readonly name: string | undefined;
  /** It opens a replacement when told to. */
  readonly supportsDrain: boolean;
  /** It marks answers to requests that it did not execute because it leaves. */
  readonly supportsClientDrain: boolean;
  readonly workerId: string | undefined;
  readonly connectionId: string | undefined;
  /** `perdure/<version>`; undefined for official clients. */
  readonly client: string | undefined;
  /** Ports of `tunnel://` that it serves; undefined when it does not say. */
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

/** Undefined when there is no credential or no environment: then nobody can be let in. */
export function parseHello(headers: HandshakeHeaders): TunnelHello | undefined {
  const credential = /^bearer ([\x21-\x7e]+)$/i.exec(textOf(headers["authorization"], CREDENTIAL_CHARS_MAX) ?? "")?.[1];
  const environmentId = textOf(headers["environment-id"], LABEL_CHARS_MAX);
  if (credential === undefined || environmentId === undefined) return undefined;
  return {
    credential,
    environmentId,
    // A name that is too long is a name all the same, and a bad one.
    name: textOf(headers["tunnel-name"], Number.MAX_SAFE_INTEGER),
    supportsDrain: headers["supports-drain"] === "true",
    supportsClientDrain: headers["supports-client-drain"] === "true",
    workerId: textOf(headers["tunnel-worker-id"], LABEL_CHARS_MAX),
    connectionId: textOf(headers["tunnel-connection-id"], LABEL_CHARS_MAX),
    client: textOf(headers["tunnel-client"], LABEL_CHARS_MAX),
    ports: portsOf(textOf(headers["tunnel-ports"], PORTS_MAX * 6)),
  };
}

/** What the relay answers; the addresses are there only when it is `ok`. */
export type TunnelWelcome =
  | { readonly status: "ok"; readonly name: string; readonly proxyUrl: string; readonly tunnelUrl: string }
  | { readonly status: Exclude<TunnelStatus, "ok"> };

export function welcomeTrailers(welcome: TunnelWelcome): Record<string, string> {
  if (welcome.status !== "ok") return { "tunnel-status": welcome.status };
  const { name, proxyUrl, tunnelUrl } = welcome;
  return { "tunnel-status": "ok", "proxy-url": proxyUrl, "tunnel-url": tunnelUrl, "tunnel-name": name };
}

/** Undefined when the trailers say nothing that is understood. */
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
