/** The transport to endpoints that are AWS Lambda functions: synchronous invocations of a qualified function, without retries. */
import { invariant } from "@perdure/base";
import type { EndpointStream, EndpointTransport, StreamListener, StreamRequest } from "@perdure/endpoint-transport";
import { regionOf } from "./arn.js";
import { type LambdaClientOptions, LambdaClients } from "./lambda-clients.js";
import { LambdaStream } from "./lambda-stream.js";

interface LambdaTransportOptions extends LambdaClientOptions {
  /**
   * Call functions only with a role of their owner and with an external id: users must not use the process's own credentials, and a role
   * that trusts the platform must not serve other users who know its name (cloud.md §5.6).
   */
  readonly rolesOnly?: boolean;
}

/** Serves addresses of kind `lambda`. Requests must be request/response; the request is sent at `end`. */
export function createLambdaTransport(options: LambdaTransportOptions = {}): EndpointTransport {
  return new LambdaTransport(options);
}

class LambdaTransport implements EndpointTransport {
  readonly #clients: LambdaClients;
  readonly #rolesOnly: boolean;
  readonly #hasExternalId: boolean;

  constructor(options: LambdaTransportOptions) {
    this.#rolesOnly = options.rolesOnly ?? false;
    this.#hasExternalId = options.assumeRoleExternalId !== undefined;
    this.#clients = new LambdaClients(options);
  }

  open(request: StreamRequest, listener: StreamListener): EndpointStream {
    const { address } = request;
    invariant(address.kind === "lambda", "the Lambda transport is called with Lambda addresses only");
    const { arn, assumeRoleArn, compression } = address;
    const target = {
      arn,
      compression,
      client: async () => {
        const region = regionOf(arn);
        if (region === undefined) throw new Error(`${arn} is not the qualified name of a Lambda function`);
        if (this.#rolesOnly && assumeRoleArn === undefined) throw new Error(`${arn} cannot be called without a role to assume`);
        if (this.#rolesOnly && !this.#hasExternalId) throw new Error(`${arn} cannot be called: the server has no external id`);
        return this.#clients.get(region, assumeRoleArn);
      },
    };
    return new LambdaStream(target, request, listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clients.destroy();
  }
}
