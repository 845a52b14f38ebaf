/** A listener that records its events, and lets tests wait for them. */
import { fromUtf8 } from "@perdure/base";
import type {
  EndpointStream,
  EndpointTransport,
  StreamListener,
  StreamRequest,
  TransportFailure,
} from "@perdure/endpoint-transport";

export class Recorder implements StreamListener {
  status = 0;
  headers: Readonly<Record<string, string | undefined>> = {};
  readonly chunks: Uint8Array[] = [];
  failure: TransportFailure | undefined;
  ended = false;
  drains = 0;
  /** Whether the stream waits for a connection with a free stream. */
  isWaiting = false;
  bytes = 0;
  readonly #waiting: { condition: (recorder: Recorder) => boolean; resolve: () => void }[] = [];

  response(status: number, headers: Readonly<Record<string, string | undefined>>): void {
    this.status = status;
    this.headers = headers;
    this.#wake();
  }
  data(chunk: Uint8Array): void {
    this.#notOver("data");
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    this.#wake();
  }
  end(): void {
    this.#notOver("end");
    this.ended = true;
    this.#wake();
  }
  failed(failure: TransportFailure): void {
    this.#notOver("failed");
    this.failure = failure;
    this.#wake();
  }
  drain(): void {
    this.drains++;
    this.#wake();
  }
  waiting(isWaiting: boolean): void {
    this.isWaiting = isWaiting;
    this.#wake();
  }

  get text(): string {
    return fromUtf8(Buffer.concat(this.chunks));
  }
  get over(): boolean {
    return this.ended || this.failure !== undefined;
  }

  until(condition: (recorder: Recorder) => boolean): Promise<void> {
    if (condition(this)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ condition, resolve }));
  }
  /** The stream's end, whatever it is. */
  async closed(): Promise<this> {
    await this.until((recorder) => recorder.over);
    return this;
  }

  #notOver(what: string): void {
    if (this.over) throw new Error(`${what} after the end`);
  }
  #wake(): void {
    for (const each of this.#waiting.splice(0)) {
      if (each.condition(this)) each.resolve();
      else this.#waiting.push(each);
    }
  }
}

export function open(
  transport: EndpointTransport,
  uri: string,
  request: Partial<StreamRequest> & { httpVersion?: "HTTP/1.1" | "HTTP/2.0" } = {},
): { stream: EndpointStream; recorder: Recorder } {
  const recorder = new Recorder();
  const { httpVersion = "HTTP/2.0", ...rest } = request;
  const stream = transport.open(
    {
      address: { kind: "http", uri, httpVersion },
      method: "POST",
      path: "/invoke/Svc/run",
      headers: {},
      requestResponse: false,
      ...rest,
    },
    recorder,
  );
  return { stream, recorder };
}
