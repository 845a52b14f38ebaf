/**
 * AWS Lambda without AWS: implements the one call of the Lambda API that a server makes, and runs the SDK's own Lambda handler. A server
 * finds it through the variables in `environment`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createEndpointHandler } from "@restatedev/restate-sdk/lambda";
import { type ServiceDefinitions, TestListener } from "./sdk-endpoint.js";

export interface LambdaEvent {
  readonly path: string;
  readonly httpMethod: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly isBase64Encoded: boolean;
}

export interface LambdaAnswer {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded?: boolean;
}

/** Handles an event; an error that it throws becomes a function error, as on AWS. */
export type LambdaFunction = (event: LambdaEvent) => Promise<LambdaAnswer>;

/** `/2015-03-31/functions/<name or ARN>/invocations` */
const INVOCATION = /^\/[0-9-]+\/functions\/([^/]+)\/invocations/;

export class FakeLambda implements AsyncDisposable {
  readonly #listener: TestListener;
  readonly #functions: Map<string, LambdaFunction>;
  /** Unchanged events, without those of discovery. */
  readonly events: LambdaEvent[] = [];

  private constructor(listener: TestListener, functions: Map<string, LambdaFunction>) {
    this.#listener = listener;
    this.#functions = functions;
  }

  static async start(): Promise<FakeLambda> {
    const functions = new Map<string, LambdaFunction>();
    let lambda: FakeLambda | undefined;
    const server = createServer((request, response) => void lambda?.answer(request, response));
    lambda = new FakeLambda(await TestListener.open(server, 0), functions);
    return lambda;
  }

  /** Environment variables for the server's process. */
  get environment(): Record<string, string> {
    return {
      AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${this.#listener.port}`,
      AWS_ACCESS_KEY_ID: "a-key",
      AWS_SECRET_ACCESS_KEY: "a-secret",
    };
  }

  /** Adds a function and returns its ARN for registration. */
  add(name: string, run: LambdaFunction): string {
    const arn = `arn:aws:lambda:us-east-1:123456789012:function:${name}:1`;
    this.#functions.set(arn, run);
    return arn;
  }

  addServices(name: string, services: ServiceDefinitions): string {
    const handler = createEndpointHandler({ services, logger: () => {} });
    return this.add(name, async (event) => {
      if (event.httpMethod === "POST") this.events.push(event);
      return (await handler(event, {})) as LambdaAnswer;
    });
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const arn = decodeURIComponent(INVOCATION.exec(request.url ?? "")?.[1] ?? "");
    const run = this.#functions.get(arn);
    response.setHeader("content-type", "application/json");
    if (run === undefined) {
      response.statusCode = 404;
      response.setHeader("x-amzn-errortype", "ResourceNotFoundException");
      response.end(JSON.stringify({ message: `Function not found: ${arn}` }));
      return;
    }
    try {
      response.end(JSON.stringify(await run(JSON.parse(Buffer.concat(chunks).toString()) as LambdaEvent)));
    } catch (cause) {
      response.setHeader("x-amz-function-error", "Unhandled");
      response.end(JSON.stringify({ errorMessage: String(cause), errorType: "Error" }));
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#listener.close();
  }
}
