/** The transport to endpoints that are AWS Lambda functions: synchronous invokes of a qualified function, never retried here. */
import { invariant } from "@perdure/base";
import type { EndpointStream, EndpointTransport, StreamListener, StreamRequest } from "@perdure/invoker";
import { regionOf } from "./arn.js";
import { type LambdaClientOptions, LambdaClients } from "./lambda-clients.js";
import { LambdaStream } from "./lambda-stream.js";

export type LambdaTransportOptions = LambdaClientOptions;

/** Serves addresses of kind `lambda`. Requests must be request/response; what is written leaves at `end`. */
export function createLambdaTransport(options: LambdaTransportOptions = {}): EndpointTransport {
  return new LambdaTransport(options);
}

class LambdaTransport implements EndpointTransport {
  readonly #clients: LambdaClients;

  constructor(options: LambdaTransportOptions) {
    this.#clients = new LambdaClients(options);
  }

  open(request: StreamRequest, listener: StreamListener): EndpointStream {
    const { address } = request;
    invariant(address.kind === "lambda", "the Lambda transport is asked for Lambda addresses only");
    const { arn, assumeRoleArn, compression } = address;
    const target = {
      arn,
      compression,
      client: async () => {
        const region = regionOf(arn);
        if (region === undefined) throw new Error(`${arn} is not the qualified name of a Lambda function`);
        return this.#clients.get(region, assumeRoleArn);
      },
    };
    return new LambdaStream(target, request, listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clients.destroy();
  }
}
