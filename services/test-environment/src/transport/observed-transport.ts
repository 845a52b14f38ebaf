/**
 * The transport to endpoints of an environment: reads the frames of both directions on their way, converts times between the clock of the
 * handlers' process and that of the environment, and applies the faults that the test has set.
 */
import type {
  EndpointStream,
  EndpointTransport,
  StreamListener,
  StreamRequest,
  TransportFailure,
} from "@perdure/endpoint-transport";
import { encodeFrame, type Frame, FrameDecoder } from "@perdure/service-protocol";
import type { EngineActivity } from "../time/activity.js";
import { AttemptSteps, type ReachedPoint } from "./attempt-steps.js";
import type { TimeShift } from "./time-shift.js";

/** What happens to an attempt at a point that it has reached. */
export type PointAction =
  | { readonly kind: "continue" }
  /** The connection breaks. `overlaps`: the handler does not notice, and continues until it awaits something. */
  | { readonly kind: "crash"; readonly overlaps: boolean }
  /** The frame is replaced. */
  | { readonly kind: "replace"; readonly frame: Frame }
  /** The frame, and all after it, wait until the promise resolves. */
  | { readonly kind: "wait"; readonly until: Promise<void> };

export interface TransportObserver {
  /** Called before a frame is passed on; for each frame once. */
  reached(point: ReachedPoint): PointAction;
}

const BROKEN: TransportFailure = { kind: "reset", message: "the test environment has broken the connection" };

export interface ObservedTransport extends EndpointTransport {
  /** Streams that are open and not held back by a slow step. */
  readonly working: number;
  /** Paths of the requests that are open. */
  openPaths(): readonly string[];
  /** Breaks the connections of all attempts for which `matches` holds; returns their number. */
  breakAll(matches: (path: string) => boolean): number;
}

export function observedTransport(
  plain: EndpointTransport,
  parts: { readonly activity: EngineActivity; readonly shift: TimeShift; readonly observer: TransportObserver },
): ObservedTransport {
  const open = new Set<ObservedStream>();
  return {
    open(request, listener) {
      const stream = new ObservedStream(request, listener, { ...parts, closed: (one) => open.delete(one) });
      open.add(stream);
      stream.begin(plain);
      return stream;
    },
    get working() {
      let count = 0;
      for (const stream of open) if (!stream.isHeld) count++;
      return count;
    },
    openPaths: () => [...open].map(({ path }) => path),
    breakAll(matches) {
      const broken = [...open].filter(({ path, isAttempt }) => isAttempt && matches(path));
      for (const stream of broken) stream.break(false);
      return broken.length;
    },
    [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose](),
  };
}

interface StreamParts {
  readonly activity: EngineActivity;
  readonly shift: TimeShift;
  readonly observer: TransportObserver;
  readonly closed: (stream: ObservedStream) => void;
}

/** The invoker writes to this object; the transport calls its `#endpoint`. */
class ObservedStream implements EndpointStream {
  readonly path: string;
  readonly isAttempt: boolean;
  readonly #request: StreamRequest;
  readonly #listener: StreamListener;
  readonly #parts: StreamParts;
  readonly #fromSdk = new FrameDecoder();
  readonly #toSdk = new FrameDecoder();
  readonly #steps: AttemptSteps;
  #stream: EndpointStream | undefined;
  /** Work that waits until a slow step is over, in order. */
  #held: (() => void)[] | undefined;
  /** The invoker gets no more calls. */
  #isOver = false;

  constructor(request: StreamRequest, listener: StreamListener, parts: StreamParts) {
    this.path = request.path;
    this.isAttempt = request.path.startsWith("/invoke/");
    this.#request = request;
    this.#listener = listener;
    this.#parts = parts;
    this.#steps = new AttemptSteps(request.path);
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  begin(plain: EndpointTransport): void {
    this.#parts.activity.bump();
    this.#stream = plain.open(this.#request, this.#endpoint);
  }

  /** Breaks the connection as the invoker sees it; the handler's end stays open with `overlaps`. */
  break(overlaps: boolean): void {
    if (this.#isOver) return;
    this.#end();
    if (overlaps) this.#stream?.end();
    else this.#stream?.abort();
    queueMicrotask(() => this.#listener.failed(BROKEN));
  }

  // ── from the invoker ───────────────────────────────────────────────────────────────────────────

  write(bytes: Uint8Array): boolean {
    this.#parts.activity.bump();
    if (this.#isOver) return true;
    const isWritable = this.#stream?.write(bytes) ?? true;
    if (this.isAttempt) this.#sent(bytes);
    return isWritable;
  }

  end(): void {
    this.#parts.activity.bump();
    this.#stream?.end();
  }

  abort(): void {
    this.#end();
    this.#stream?.abort();
  }

  pauseReading(): void {
    this.#stream?.pauseReading();
  }

  resumeReading(): void {
    this.#stream?.resumeReading();
  }

  carriesLargeMessage(isLarge: boolean): void {
    this.#stream?.carriesLargeMessage?.(isLarge);
  }

  /** A crash after an acknowledgement happens here: what is stored has just been confirmed. */
  #sent(bytes: Uint8Array): void {
    this.#toSdk.push(bytes);
    for (let frame = this.#toSdk.next(); frame !== undefined; frame = this.#toSdk.next()) {
      const point = this.#steps.sent(frame);
      if (point === undefined) continue;
      const action = this.#parts.observer.reached(point);
      if (action.kind === "crash") return this.break(action.overlaps);
    }
  }

  // ── from the endpoint ──────────────────────────────────────────────────────────────────────────

  readonly #endpoint: StreamListener = {
    response: (status, headers) => this.#then(() => this.#listener.response(status, headers)),
    data: (chunk) => this.#data(chunk),
    end: () =>
      this.#then(() => {
        this.#end();
        this.#listener.end();
      }),
    failed: (failure) =>
      this.#then(() => {
        this.#end();
        this.#listener.failed(failure);
      }),
    drain: () => {
      if (!this.#isOver) this.#listener.drain();
    },
    waiting: (isWaiting) => {
      if (!this.#isOver) this.#listener.waiting?.(isWaiting);
    },
  };

  #data(chunk: Uint8Array): void {
    if (!this.isAttempt) return this.#then(() => this.#listener.data(chunk));
    if (this.#isOver) return;
    this.#fromSdk.push(chunk);
    for (let frame = this.#fromSdk.next(); frame !== undefined; frame = this.#fromSdk.next()) this.#inOrder(frame);
    const { fault } = this.#fromSdk;
    if (fault !== undefined) this.#endpoint.failed({ kind: "protocol", message: fault.detail });
  }

  #inOrder(frame: Frame): void {
    const owned = { ...frame, body: frame.body.slice() };
    this.#then(() => this.#received(owned));
  }

  #then(work: () => void): void {
    this.#parts.activity.bump();
    if (this.#isOver) return;
    if (this.#held === undefined) work();
    else this.#held.push(work);
  }

  #received(original: Frame): void {
    const frame = this.#parts.shift.toEnvironment(original);
    const point = this.#steps.received(frame);
    const action = point === undefined ? CONTINUE : this.#parts.observer.reached(point);
    switch (action.kind) {
      case "continue":
        this.#pass(frame);
        return this.#afterStored(point);
      case "replace":
        return this.#pass(action.frame);
      case "crash":
        return this.break(action.overlaps);
      case "wait":
        return this.#hold(action.until, frame);
    }
  }

  /** A retry begins only when what was passed on is stored, so a crash here is one after the step was stored. */
  #afterStored(point: ReachedPoint | undefined): void {
    if (point === undefined || point.isRun || this.#isOver) return;
    const action = this.#parts.observer.reached({ ...point, side: "after-ack" });
    if (action.kind === "crash") this.break(action.overlaps);
  }

  #hold(until: Promise<void>, frame: Frame): void {
    const held: (() => void)[] = [() => this.#pass(frame)];
    this.#held = held;
    void until.then(() => {
      this.#held = undefined;
      this.#parts.activity.bump();
      for (const work of held) this.#then(work);
    });
  }

  #pass({ type, flags, body }: Frame): void {
    if (!this.#isOver) this.#listener.data(encodeFrame(type, body, flags));
  }

  #end(): void {
    this.#parts.activity.bump();
    this.#isOver = true;
    this.#held = undefined;
    this.#parts.closed(this);
  }
}

const CONTINUE: PointAction = { kind: "continue" };
