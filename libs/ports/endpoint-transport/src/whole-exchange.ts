/** One whole request and response over a transport, for discovery, whichever way the endpoint is reached. */
import { type Clock, concatBytes, EMPTY_BYTES } from "@perdure/base";
import type { EndpointTransport, StreamRequest, TransportFailure } from "./endpoint-transport.js";

interface ExchangeBounds {
  /** A longer response body is a `protocol` failure. */
  readonly responseBytesMax: number;
  /**
   * Timeout of everything up to the last byte; exceeding it is a `connect` failure before the response's head and a `reset` failure after
   * it.
   */
  readonly timeoutMs: number;
}

type WholeExchange =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly headers: Readonly<Record<string, string | undefined>>;
      readonly body: Uint8Array;
    }
  | { readonly kind: "failed"; readonly failure: TransportFailure };

/** Never rejects; an aborted `signal` ends it as a `client` failure. */
export function exchangeWhole(
  { transport, clock }: { readonly transport: EndpointTransport; readonly clock: Clock },
  request: Omit<StreamRequest, "requestResponse"> & { readonly body?: Uint8Array | undefined },
  { responseBytesMax, timeoutMs }: ExchangeBounds,
  signal?: AbortSignal,
): Promise<WholeExchange> {
  return new Promise((resolve) => {
    let status = 0;
    let headers: Readonly<Record<string, string | undefined>> = {};
    const chunks: Uint8Array[] = [];
    let received = 0;
    const finish = (outcome: WholeExchange) => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
      resolve(outcome);
    };
    const giveUp = (failure: TransportFailure) => {
      stream.abort();
      finish({ kind: "failed", failure });
    };
    const onAbort = () => giveUp({ kind: "client", message: "the request was cancelled" });
    const timer = clock.setTimer(timeoutMs, () =>
      giveUp({ kind: status === 0 ? "connect" : "reset", message: `no answer within ${timeoutMs} ms` }),
    );
    const { address, method, path, body } = request;
    const stream = transport.open(
      { address, method, path, headers: request.headers, requestResponse: true },
      {
        response(newStatus, newHeaders) {
          status = newStatus;
          headers = newHeaders;
        },
        data(chunk) {
          received += chunk.length;
          if (received <= responseBytesMax) chunks.push(chunk);
          else giveUp({ kind: "protocol", message: `the response is longer than ${responseBytesMax} bytes` });
        },
        end: () =>
          finish({ kind: "response", status, headers, body: chunks.length === 0 ? EMPTY_BYTES : concatBytes(...chunks) }),
        failed: (failure) => finish({ kind: "failed", failure }),
        drain() {},
      },
    );
    if (body !== undefined && body.length > 0) stream.write(body);
    stream.end();
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort);
  });
}
