/** Limits and switches of the ingress; each has a default. */
import type { PreferredPartitions } from "@perdure/base";
import type { HttpPortOptions } from "@perdure/http-server";

export interface IngressOptions {
  /** `ingress.request-size-limit`, bytes. */
  readonly requestBytesMax?: number;
  /** `ingress.concurrent-api-requests-limit`; unlimited when undefined. Health checks and preflights do not count. */
  readonly concurrentRequestsMax?: number | undefined;
  /**
   * `ingress.requests-per-second-limit`: sustained rate and burst; unlimited when undefined. Health checks and preflights do not count.
   */
  readonly requestsPerSecondMax?: number | undefined;
  /** Bytes of all bodies being read together. */
  readonly bufferedBodyBytesMax?: number;
  readonly bodyTimeoutMs?: number;
  readonly drainMs?: number;
  /** `experimental-enable-vqueues`: scoped calls are accepted; true by default. */
  readonly scopesEnabled?: boolean;
  /** Origins of web pages that may read responses; `*` is any, which is the default. */
  readonly corsOrigins?: readonly string[];
  readonly http?: HttpPortOptions;
  /** Partitions for new invocations of plain services, which may be in any; undefined: all. */
  readonly preferredPartitions?: PreferredPartitions | undefined;
}
