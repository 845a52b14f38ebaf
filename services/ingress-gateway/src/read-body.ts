/** Reads the body of a request whose handler needs nothing but its bytes. */
import type { IngressContext } from "./context.js";
import type { IngressExchange } from "./exchange.js";
import { bodyRefusal } from "./refusal.js";

/** Reads the whole body, or refuses the exchange. */
export function readBody(context: IngressContext, exchange: IngressExchange, use: (bytes: Uint8Array) => void): void {
  const reading = context.bodies.open(
    {
      body(bytes) {
        try {
          use(bytes);
        } catch (cause) {
          context.crash(exchange, cause);
        }
      },
      bodyFailed: (cause) => context.refuse(exchange, bodyRefusal(cause)),
    },
    exchange.contentLength,
  );
  exchange.startBody(reading);
}
