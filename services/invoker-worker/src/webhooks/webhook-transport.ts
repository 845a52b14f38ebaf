/**
 * Delivers events to webhooks: a transport that answers requests to the webhooks' deployment itself and passes all others on. It reads the
 * event from the input of the delivery, sends it through the transport to endpoints (with its egress guard and certificates), and ends
 * the attempt, or fails it so that the invoker retries.
 */
import { type Clock, EMPTY_BYTES, fromUtf8, redactUrlParts } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { EndpointStream, EndpointTransport, StreamListener, StreamRequest } from "@perdure/endpoint-transport";
import { retryAfterMs } from "@perdure/invoker";
import {
  decodeCommand,
  decodeStart,
  encodeCommand,
  encodeControl,
  encodeFrame,
  endFrame,
  FrameDecoder,
  type InputCommand,
  invocationContentType,
  isFault,
  MessageType,
  type OutputCommand,
} from "@perdure/service-protocol";
import type { EventRoute } from "@perdure/state-machine";
import {
  WEBHOOK_ATTEMPTS_MAX,
  WEBHOOK_LOOKUPS_MAX,
  WEBHOOK_RESPONSE_BYTES_MAX,
  WEBHOOK_RETRY_FIRST_MS,
  WEBHOOK_RETRY_MAX_MS,
  WEBHOOK_TIMEOUT_MS,
} from "./limits.js";
import { webhookHeaders } from "./signature.js";
import { WEBHOOK_ADDRESS, WEBHOOK_PROTOCOL_VERSION } from "./webhook-registry.js";

interface WebhookPorts {
  readonly registry: RegistryView;
  readonly clock: Clock;
}

export function transportWithWebhooks(inner: EndpointTransport, ports: WebhookPorts): EndpointTransport {
  return {
    open(request, listener) {
      const { address } = request;
      if (address.kind === "http" && address.uri === WEBHOOK_ADDRESS) return new WebhookDelivery(inner, ports, request, listener);
      return inner.open(request, listener);
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

/** `retry`: the invoker tries again by its policy, or after the time that the receiver requested. */
type DeliveryOutcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "retry"; readonly message: string; readonly afterMs: number | undefined };

/** One attempt of one delivery. */
class WebhookDelivery implements EndpointStream {
  readonly #inner: EndpointTransport;
  readonly #ports: WebhookPorts;
  readonly #subscriptionId: string;
  readonly #listener: StreamListener;
  readonly #frames = new FrameDecoder();
  #input: InputCommand | undefined;
  #hasOutput = false;
  /** Failed attempts of this delivery, since the worker leads its partition. */
  #failureCount = 0;
  #request: { readonly stream: EndpointStream; cancelTimer(): void } | undefined;
  #isOver = false;

  constructor(inner: EndpointTransport, ports: WebhookPorts, { path }: StreamRequest, listener: StreamListener) {
    this.#inner = inner;
    this.#ports = ports;
    this.#subscriptionId = path.slice(path.lastIndexOf("/") + 1);
    this.#listener = listener;
  }

  write(bytes: Uint8Array): boolean {
    this.#frames.push(bytes);
    for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next()) {
      if (frame.type === MessageType.Output) this.#hasOutput = true;
      if (frame.type === MessageType.Start) {
        const start = decodeStart(frame.body);
        if (!isFault(start)) this.#failureCount = start.retryCountSinceLastStoredEntry;
      }
      if (frame.type !== MessageType.Input) continue;
      const input = decodeCommand(frame.type, frame.body);
      if (!isFault(input) && input.kind === "input") this.#input = input;
    }
    return true;
  }

  end(): void {
    // Not at once: a transport does not call its listener inside its methods.
    queueMicrotask(() => this.#deliver());
  }

  abort(): void {
    this.#isOver = true;
    this.#stop();
  }

  pauseReading(): void {}
  resumeReading(): void {}

  #deliver(): void {
    if (this.#isOver) return;
    if (this.#hasOutput) return this.#respond([endFrame]); // An earlier attempt delivered the event and was cut off afterwards.
    const input = this.#input;
    const eventId = input?.headers.find(({ key }) => key === "x-perdure-event-id")?.value;
    if (input === undefined || eventId === undefined)
      return this.#finish({ kind: "refused", message: "the delivery has no event" });
    const route = this.#ports.registry.current().events?.find(({ id }) => id === this.#subscriptionId);
    if (route?.webhook === undefined) return this.#finish(this.#withoutSubscription());
    this.#send(route.webhook, eventId, input.value);
  }

  /** The registry that the sender of the event has seen may be newer than the one here, so a subscription is missing only after a time. */
  #withoutSubscription(): DeliveryOutcome {
    const message = "the event subscription does not exist, or was deleted before the event was delivered";
    if (this.#failureCount >= WEBHOOK_LOOKUPS_MAX) return { kind: "refused", message };
    return { kind: "retry", message, afterMs: undefined };
  }

  #send({ url, secrets }: NonNullable<EventRoute["webhook"]>, eventId: string, body: Uint8Array): void {
    const { clock } = this.#ports;
    // A base address loses its slashes at the end; the path has them.
    const path = /\/*$/.exec(new URL(url).pathname)?.[0] ?? "";
    const timer = clock.setTimer(WEBHOOK_TIMEOUT_MS, () =>
      this.#finish({ kind: "retry", message: `no response within ${WEBHOOK_TIMEOUT_MS / 1000} s`, afterMs: undefined }),
    );
    const request: StreamRequest = {
      address: { kind: "http", uri: url, httpVersion: "HTTP/1.1" },
      method: "POST",
      path,
      headers: {
        "content-type": "application/json",
        "user-agent": "perdure-webhooks",
        ...webhookHeaders(eventId, clock.nowMs(), body, secrets),
      },
      requestResponse: true,
    };
    let status = 0;
    let retryAfter: string | undefined;
    let text = "";
    const finish = (): void => {
      const quoted = redactUrlParts(text, url, text.length >= WEBHOOK_RESPONSE_BYTES_MAX);
      this.#finish(outcomeOf(status, retryAfter, quoted, clock.nowMs()));
    };
    const stream = this.#inner.open(request, {
      response(newStatus, headers) {
        status = newStatus;
        retryAfter = headers["retry-after"];
      },
      data(chunk) {
        text += fromUtf8(chunk.subarray(0, WEBHOOK_RESPONSE_BYTES_MAX - text.length));
        if (text.length >= WEBHOOK_RESPONSE_BYTES_MAX) finish();
      },
      end: finish,
      failed: ({ message }) => this.#finish({ kind: "retry", message: redactUrlParts(message, url), afterMs: undefined }),
      drain() {},
    });
    this.#request = { stream, cancelTimer: () => timer.cancel() };
    stream.write(body);
    stream.end();
  }

  #finish(outcome: DeliveryOutcome): void {
    if (this.#isOver) return;
    switch (outcome.kind) {
      case "delivered":
        return this.#respond([output({ kind: "value", value: EMPTY_BYTES }), endFrame]);
      case "refused":
        return this.#respond([
          output({ kind: "failure", failure: { code: 410, message: outcome.message, metadata: [] } }),
          endFrame,
        ]);
      case "retry":
        // The retry policy does not count attempts whose time the receiver requested, so attempts are counted here.
        if (this.#failureCount >= WEBHOOK_ATTEMPTS_MAX - 1) return this.#finish({ kind: "refused", message: outcome.message });
        return this.#respond([error(outcome.message, outcome.afterMs)]);
    }
  }

  #respond(frames: readonly Uint8Array[]): void {
    this.#isOver = true;
    this.#stop();
    this.#listener.response(200, { "content-type": invocationContentType(WEBHOOK_PROTOCOL_VERSION) });
    for (const frame of frames) this.#listener.data(frame);
    this.#listener.end();
  }

  /** A request that has ended is aborted without effect. */
  #stop(): void {
    this.#request?.cancelTimer();
    this.#request?.stream.abort();
    this.#request = undefined;
  }
}

/** Any 2xx accepts the event, and 410 refuses it for good, as the specification says. Redirects are failures: they are not followed. */
function outcomeOf(status: number, retryAfter: string | undefined, text: string, nowMs: number): DeliveryOutcome {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const quoted = text === "" ? "" : `: ${text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ")}`;
  const message = `the webhook answered ${status}${quoted}`;
  if (status === 410) return { kind: "refused", message };
  const requestedMs = status === 429 || status === 503 ? retryAfterMs(retryAfter, nowMs) : undefined;
  if (requestedMs === undefined) return { kind: "retry", message, afterMs: undefined };
  return { kind: "retry", message, afterMs: Math.min(Math.max(requestedMs, WEBHOOK_RETRY_FIRST_MS), WEBHOOK_RETRY_MAX_MS) };
}

function output(result: OutputCommand["result"]): Uint8Array {
  return encodeFrame(MessageType.Output, encodeCommand({ kind: "output", result, name: "" }));
}

function error(message: string, nextRetryDelayMs: number | undefined): Uint8Array {
  const unrelated = { relatedCommandIndex: undefined, relatedCommandName: undefined, relatedCommandType: undefined };
  const body = encodeControl(
    { kind: "error", code: 502, message, stacktrace: "", ...unrelated, nextRetryDelayMs, behavior: "retry" },
    WEBHOOK_PROTOCOL_VERSION,
  );
  return encodeFrame(MessageType.Error, body);
}
