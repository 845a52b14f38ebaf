/**
 * Processes of one cluster can identify themselves with a shared token instead of certificates. The token keeps out clients without it, but
 * nothing is encrypted: an attacker with access to the network traffic can read the token too.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import {
  InterceptingCall,
  type Interceptor,
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from "@grpc/grpc-js";
import type { Secret } from "@perdure/base";

export interface SharedToken {
  readonly token: Secret;
}

const HEADER = "authorization";

const shownAs = ({ token }: SharedToken): string => `Bearer ${token.reveal()}`;

/** Returns an interceptor of channels that adds the token to each call. */
export function showingToken(shared: SharedToken): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        metadata.set(HEADER, shownAs(shared));
        next(metadata, listener);
      },
    });
}

/** Returns an interceptor of servers that ends a call without the token with UNAUTHENTICATED before any handler receives it. */
export function requiringToken(shared: SharedToken): ServerInterceptor {
  const expectedDigest = digest(shownAs(shared));
  return (_method, call) => {
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        const [shown] = metadata.get(HEADER);
        if (typeof shown === "string" && timingSafeEqual(digest(shown), expectedDigest)) {
          metadata.remove(HEADER);
          return next(metadata);
        }
        call.sendStatus({
          code: status.UNAUTHENTICATED,
          details: "the token of the cluster is missing or wrong; see tls.token-file",
          metadata: new Metadata(),
        });
      })
      .build();
    return new ServerInterceptingCall(call, { start: (next) => next(listener) });
  };
}

/** Digests have one length, so that the time of the comparison reveals nothing. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
