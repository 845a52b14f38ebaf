/** The parts of the Lambda Invoke API and the token service that the driver uses, on a free port. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface LambdaCall {
  readonly arn: string;
  readonly event: { path: string; httpMethod: string; headers: Record<string, string>; body: string; isBase64Encoded: boolean };
  readonly authorization: string;
  readonly invocationType: string | undefined;
}

/** Result of the function, or the error that it ends with. */
export type LambdaAnswer =
  | { readonly kind: "result"; readonly payload: unknown }
  | { readonly kind: "functionError"; readonly payload: unknown }
  | { readonly kind: "refused"; readonly status: number; readonly type: string; readonly message: string };

export interface FakeAws extends AsyncDisposable {
  readonly endpoint: string;
  readonly calls: LambdaCall[];
  /** Query parameters of AssumeRole requests. */
  readonly assumed: URLSearchParams[];
}

const INVOKE = /^\/2015-03-31\/functions\/([^/]+)\/invocations/;

export async function fakeAws(handle: (call: LambdaCall) => Promise<LambdaAnswer>): Promise<FakeAws> {
  const calls: LambdaCall[] = [];
  const assumed: URLSearchParams[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const body = Buffer.concat(chunks).toString();
    const invoke = INVOKE.exec(request.url ?? "");
    if (invoke === null) {
      assumed.push(new URLSearchParams(body));
      response.setHeader("content-type", "text/xml");
      response.end(assumedRole());
      return;
    }
    const call: LambdaCall = {
      arn: decodeURIComponent(invoke[1] ?? ""),
      event: JSON.parse(body),
      authorization: request.headers.authorization ?? "",
      invocationType: request.headers["x-amz-invocation-type"] as string | undefined,
    };
    calls.push(call);
    const answered = await handle(call);
    if (answered.kind === "refused") {
      response.writeHead(answered.status, { "content-type": "application/json", "x-amzn-errortype": answered.type });
      response.end(JSON.stringify({ Message: answered.message }));
      return;
    }
    if (answered.kind === "functionError") response.setHeader("x-amz-function-error", "Unhandled");
    response.end(typeof answered.payload === "string" ? answered.payload : JSON.stringify(answered.payload));
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    assumed,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function assumedRole(): string {
  const expiration = new Date(Date.now() + 3_600_000).toISOString();
  return `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
    <AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/perdure</Arn><AssumedRoleId>AROA:perdure</AssumedRoleId></AssumedRoleUser>
    <Credentials><AccessKeyId>ROLEKEY</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>${expiration}</Expiration></Credentials>
  </AssumeRoleResult><ResponseMetadata><RequestId>x</RequestId></ResponseMetadata></AssumeRoleResponse>`;
}
