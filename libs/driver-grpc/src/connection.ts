/** Channels between roles: keepalive on both sides, mutual TLS when certificates are given. */
import { ChannelCredentials, type ChannelOptions, Client, ServerCredentials, type ServerOptions } from "@grpc/grpc-js";
import type { OperationObserver } from "@perdure/base";
import { KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS, MESSAGE_BYTES_MAX, RECONNECT_FIRST_MS, RECONNECT_LONGEST_MS } from "./limits.js";
import { observingInterceptor } from "./observed.js";

/** PEM texts. Each side shows its certificate and wants the other's signed by `authority`. */
export interface MutualTls {
  readonly authority: string;
  readonly certificate: string;
  readonly privateKey: string;
}

const CHANNEL_OPTIONS: ChannelOptions = {
  // Who asks knows what may be asked again; retries beneath would keep a copy of everything sent.
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

/** `observer`: told of questions with one answer. */
export function openChannel(address: string, tls: MutualTls | undefined, observer?: OperationObserver): Client {
  const credentials =
    tls === undefined
      ? ChannelCredentials.createInsecure()
      : ChannelCredentials.createSsl(Buffer.from(tls.authority), Buffer.from(tls.privateKey), Buffer.from(tls.certificate));
  const interceptors = observer === undefined ? {} : { interceptors: [observingInterceptor(observer)] };
  return new Client(address, credentials, { ...CHANNEL_OPTIONS, ...interceptors });
}

export function serverCredentials(tls: MutualTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const pair = { private_key: Buffer.from(tls.privateKey), cert_chain: Buffer.from(tls.certificate) };
  return ServerCredentials.createSsl(Buffer.from(tls.authority), [pair], true);
}
