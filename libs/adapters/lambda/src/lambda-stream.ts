/**
 * One request through Lambda, without streaming: request bytes are buffered, the end of the request invokes the function, and the response
 * arrives as a whole.
 */
import type { InvokeCommandOutput, LambdaClient } from "@aws-sdk/client-lambda";
import { concatBytes, fromUtf8 } from "@perdure/base";
import type { EndpointStream, StreamListener, StreamRequest, TransportFailure } from "@perdure/endpoint-transport";
import { REQUEST_BYTES_MAX } from "./limits.js";
import { decodeResponse, encodeRequest, type LambdaResponse } from "./payload.js";

/** Characters of a function's own error text that an error quotes. */
const QUOTED_CHARS_MAX = 500;

interface LambdaTarget {
  readonly arn: string;
  readonly compression: "zstd" | undefined;
  client(): Promise<LambdaClient>;
}

export class LambdaStream implements EndpointStream {
  readonly #target: LambdaTarget;
  readonly #request: StreamRequest;
  readonly #listener: StreamListener;
  readonly #abort = new AbortController();
  #chunks: Uint8Array[] = [];
  #size = 0;
  #invoked = false;
  #over = false;
  #readingPaused = false;
  /** A response that arrived while reading was paused. */
  #held: LambdaResponse | undefined;

  constructor(target: LambdaTarget, request: StreamRequest, listener: StreamListener) {
    this.#target = target;
    this.#request = request;
    this.#listener = listener;
  }

  write(bytes: Uint8Array): boolean {
    if (this.#invoked || this.#over) return true;
    this.#size += bytes.length;
    if (this.#size <= REQUEST_BYTES_MAX) this.#chunks.push(bytes);
    return true;
  }

  end(): void {
    if (this.#invoked || this.#over) return;
    this.#invoked = true;
    this.#invoke().then(
      (response) => this.#deliver(response),
      (cause: unknown) => this.#fail(failureOf(cause)),
    );
  }

  abort(): void {
    this.#over = true;
    this.#chunks = [];
    this.#held = undefined;
    this.#abort.abort();
  }

  pauseReading(): void {
    this.#readingPaused = true;
  }

  resumeReading(): void {
    this.#readingPaused = false;
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#pass(held);
  }

  async #invoke(): Promise<LambdaResponse> {
    if (this.#size > REQUEST_BYTES_MAX) throw new Error(`the request is longer than ${REQUEST_BYTES_MAX} bytes`);
    const body = concatBytes(...this.#chunks);
    this.#chunks = [];
    const { method, path, headers } = this.#request;
    const payload = await encodeRequest({ method, path, headers, body, compression: this.#target.compression });
    const client = await this.#target.client();
    const { InvokeCommand } = await import("@aws-sdk/client-lambda");
    const command = new InvokeCommand({ FunctionName: this.#target.arn, InvocationType: "RequestResponse", Payload: payload });
    const answer = await client.send(command, { abortSignal: this.#abort.signal });
    if (answer.FunctionError !== undefined) throw new Error(functionErrorText(answer));
    return decodeResponse(answer.Payload);
  }

  #deliver(response: LambdaResponse): void {
    if (this.#over) return;
    this.#listener.response(response.status, response.headers);
    if (this.#readingPaused) this.#held = response;
    else this.#pass(response);
  }

  #pass({ body }: LambdaResponse): void {
    if (!this.#over && body.length > 0) this.#listener.data(body);
    if (this.#over) return; // The listener may have cancelled the stream.
    this.#over = true;
    this.#listener.end();
  }

  #fail(failure: TransportFailure): void {
    if (this.#over) return;
    this.#over = true;
    this.#listener.failed(failure);
  }
}

/** The function's own error: `errorType: errorMessage` of its payload. */
function functionErrorText({ FunctionError, Payload }: InvokeCommandOutput): string {
  const text = Payload === undefined ? "" : fromUtf8(Payload).slice(0, QUOTED_CHARS_MAX);
  return `the function failed (${FunctionError}): ${text}`;
}

/** Fields of errors from the AWS SDK. Errors are classified by these fields, because their classes come from another package. */
interface AwsErrorFields {
  readonly name?: string;
  readonly message?: string;
  /** Metadata that every error of a request has; without a status the service was not reached. */
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function failureOf(cause: unknown): TransportFailure {
  const {
    name = "Error",
    message = String(cause),
    $metadata,
  }: AwsErrorFields = typeof cause === "object" && cause !== null ? cause : {};
  const unreachable = $metadata !== undefined && $metadata.httpStatusCode === undefined;
  return { kind: unreachable ? "connect" : "client", message: name === "Error" ? message : `${name}: ${message}` };
}
