/**
 * Follows requests of `fetch` in this process from their creation until the server receives them: until then they lie in a socket, where
 * neither side sees them. Node publishes them on a diagnostics channel; where a runtime does not, requests on the way are not counted.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { RequestGuard } from "@perdure/http-server";
import type { EngineActivity } from "./activity.js";

/** Marks a request; the listener removes it before a handler sees the headers. */
const MARK = "x-perdure-test-request";

/** What Node publishes, as far as it is read here. */
interface RequestMessage {
  readonly request: { readonly origin: unknown; addHeader(name: string, value: string): void };
}

let requestCount = 0;

export interface RequestsOnTheWay extends Disposable {
  /** For the listener of the ingress. */
  readonly guard: RequestGuard;
}

/** `origin`: of the ingress, known once it is bound. */
export function followRequests(activity: EngineActivity, origin: () => string | undefined): RequestsOnTheWay {
  const marks = new WeakMap<object, string>();
  const created = (message: unknown): void => {
    if (!isRequestMessage(message) || String(message.request.origin) !== origin()) return;
    const mark = String(++requestCount);
    message.request.addHeader(MARK, mark);
    marks.set(message.request, mark);
    activity.requests.add(mark);
    activity.bump();
  };
  const ended = (message: unknown): void => {
    if (isRequestMessage(message)) arrived(marks.get(message.request));
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

function isRequestMessage(message: unknown): message is RequestMessage {
  if (typeof message !== "object" || message === null || !("request" in message)) return false;
  const { request } = message;
  if (typeof request !== "object" || request === null) return false;
  return "origin" in request && "addHeader" in request && typeof request.addHeader === "function";
}
