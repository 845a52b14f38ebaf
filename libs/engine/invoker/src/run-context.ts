/** State and dependencies that all runs of one invoker share. */

import type { SummaryLog } from "@perdure/base";
import type { EndpointTransport, RequestIdentity } from "@perdure/endpoint-transport";
import type { AttemptContext } from "./attempt-owner.js";
import type { InvokerOptions } from "./options.js";
import type { InvokerHost } from "./ports.js";
import type { Run } from "./run.js";
import type { Slots } from "./slots.js";

export interface RunContext extends Omit<AttemptContext, "transport"> {
  readonly host: InvokerHost;
  readonly slots: Slots;
  /** Logger of failed attempts. */
  readonly failureLog: SummaryLog;
  readonly options: InvokerOptions;
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport | undefined };
  readonly identity: RequestIdentity | undefined;
  /** The last stream of a stopped run is closed. */
  drained(run: Run): void;
}
