/**
 * Follows requests of `fetch` in this process from their creation until the server receives them: until then they lie in a socket, where
 * neither side sees them. Node publishes them on a diagnostics channel; where a runtime does not, requests on the way are not counted.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { RequestGuard } from "@perdure/http-server";
import { z } from "zod";
import type { Activity } from "./activity.js";

/** Marks a request; the listener removes it before a handler sees the headers. */
const MARK = "x-perdure-test-request";

const Message = z.object({
  request: z.object({
    origin: z.unknown(),
    addHeader: z.custom<(name: string, value: string) => void>((one) => typeof one === "function"),
  }),
});

let requestCount = 0;

export interface RequestsOnTheWay extends Disposable {
  /** For the listener of the ingress. */
  readonly guard: RequestGuard;
}

/** `origin`: of the ingress, known once it is bound. */
export function followRequests(activity: Activity, origin: () => string | undefined): RequestsOnTheWay {
  const marks = new WeakMap<object, string>();
  const created = (message: unknown): void => {
    const parsed = Message.safeParse(message);
    if (!parsed.success || String(parsed.data.request.origin) !== origin()) return;
    const { request } = message as z.output<typeof Message>;
    const mark = String(++requestCount);
    request.addHeader(MARK, mark);
    marks.set(request, mark);
    activity.requests.add(mark);
    activity.bump();
  };
  const ended = (message: unknown): void => {
    const parsed = Message.safeParse(message);
    if (!parsed.success) return;
    arrived(marks.get((message as z.output<typeof Message>).request));
  };
  const arrived = (mark: string | undefined): void => {
    if (mark !== undefined) activity.requests.delete(mark);
    activity.bump();
  };
  subscribe("undici:request:create", created);
  subscribe("undici:request:error", ended);
  subscribe("undici:request:headers", ended);
  return {
    guard: {
      hidden: [MARK],
      refusal(_method, _target, headers) {
        const mark = headers[MARK];
        arrived(typeof mark === "string" ? mark : undefined);
        return undefined;
      },
    },
    [Symbol.dispose]() {
      unsubscribe("undici:request:create", created);
      unsubscribe("undici:request:error", ended);
      unsubscribe("undici:request:headers", ended);
    },
  };
}
