/** Channels between roles: keepalive at both ends; peers authenticate by mutual TLS, or by a shared token. */
import {
  ChannelCredentials,
  type ChannelOptions,
  Client,
  experimental,
  ServerCredentials,
  type ServerOptions,
} from "@grpc/grpc-js";
import type { OperationObserver } from "@perdure/base";
import { KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS, MESSAGE_BYTES_MAX, RECONNECT_FIRST_MS, RECONNECT_LONGEST_MS } from "./limits.js";
import { observingInterceptor } from "./observed.js";
import { providerOf, type RenewableTls } from "./renewable-tls.js";
import { requiringToken, type SharedToken, showingToken } from "./shared-token.js";

/** PEM texts. Each end of a connection presents its certificate and requires one of the other end that is signed by `authority`. */
export interface MutualTls {
  readonly authority: string;
  readonly certificate: string;
  readonly privateKey: string;
}

/** Means by which processes prove to each other that they belong together. */
export type PeerCredentials = MutualTls | RenewableTls | SharedToken;

const CHANNEL_OPTIONS: ChannelOptions = {
  // Callers decide which calls may be repeated; retries of the library would keep a copy of everything that was sent.
  "grpc.enable_retries": 0,
  "grpc.keepalive_time_ms": KEEPALIVE_MS,
  "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.initial_reconnect_backoff_ms": RECONNECT_FIRST_MS,
  "grpc.max_reconnect_backoff_ms": RECONNECT_LONGEST_MS,
  "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
  "grpc.max_send_message_length": MESSAGE_BYTES_MAX,
};

export const SERVER_OPTIONS: ServerOptions = {
  "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
  "grpc.max_send_message_length": MESSAGE_BYTES_MAX,
  "grpc.keepalive_time_ms": KEEPALIVE_MS,
  "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
};

/** `observer` is notified of unary calls. */
export function openChannel(address: string, peers: PeerCredentials | undefined, observer?: OperationObserver): Client {
  const interceptors = [
    ...(observer === undefined ? [] : [observingInterceptor(observer)]),
    ...(peers !== undefined && "token" in peers ? [showingToken(peers)] : []),
  ];
  return new Client(address, channelCredentials(peers), { ...CHANNEL_OPTIONS, interceptors });
}

function channelCredentials(peers: PeerCredentials | undefined): ChannelCredentials {
  if (peers === undefined || "token" in peers) return ChannelCredentials.createInsecure();
  if ("onChange" in peers) return experimental.createCertificateProviderChannelCredentials(providerOf(peers), providerOf(peers));
  const { authority, privateKey, certificate } = peers;
  return ChannelCredentials.createSsl(Buffer.from(authority), Buffer.from(privateKey), Buffer.from(certificate));
}

/** Returns the options of a server. With a token, every call that does not show it is refused, calls of the health service too. */
export function serverOptions(peers: PeerCredentials | undefined): ServerOptions {
  return peers !== undefined && "token" in peers ? { ...SERVER_OPTIONS, interceptors: [requiringToken(peers)] } : SERVER_OPTIONS;
}

export function serverCredentials(peers: PeerCredentials | undefined): ServerCredentials {
  if (peers === undefined || "token" in peers) return ServerCredentials.createInsecure();
  if ("onChange" in peers)
    return experimental.createCertificateProviderServerCredentials(providerOf(peers), providerOf(peers), true);
  const pair = { private_key: Buffer.from(peers.privateKey), cert_chain: Buffer.from(peers.certificate) };
  return ServerCredentials.createSsl(Buffer.from(peers.authority), [pair], true);
}
