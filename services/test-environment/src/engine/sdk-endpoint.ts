/** Serves the handlers of a test in this process, with the published SDK over HTTP/2. */
import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from "node:http2";
import { types } from "node:util";
import { invariant } from "@perdure/base";
import { createEndpointHandler, type EndpointOptions } from "@restatedev/restate-sdk";

export type ServiceDefinitions = EndpointOptions["services"];
type SdkLogger = NonNullable<EndpointOptions["logger"]>;

export interface SdkEndpoint extends AsyncDisposable {
  readonly url: string;
}

/** Where the errors and the log of handlers go. */
export type HandlerLog = (line: { readonly level: "info" | "warn" | "error"; readonly parts: readonly unknown[] }) => void;

export async function serveHandlers(services: ServiceDefinitions, log: HandlerLog): Promise<SdkEndpoint> {
  const handler = createEndpointHandler({ services, bidirectional: true, logger: sdkLogger(log) }) as (
    request: Http2ServerRequest,
    response: Http2ServerResponse,
  ) => void;
  const server = createServer(handler);
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    session.on("error", () => undefined); // The invoker reports a connection that breaks.
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  invariant(typeof address === "object" && address !== null, "a server that listens on a port has its address");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Drops lines of replays, which were shown before, and what the SDK reports about connections that a fault or the end of a test broke. */
function sdkLogger(log: HandlerLog): SdkLogger {
  return ({ level, source, replaying, context }, message, ...parts) => {
    const isError = level === "error" || level === "warn";
    if (replaying || context === undefined || (!isError && source !== "USER") || [message, ...parts].some(isBrokenConnection))
      return;
    log({ level: isError ? level : "info", parts: [`[${context.invocationTarget}]`, message, ...parts] });
  };
}

function isBrokenConnection(part: unknown): boolean {
  // Errors of Node under Jest, whose modules have globals of their own, are no instances of Error.
  const { message, code } = types.isNativeError(part)
    ? { code: "", ...part, message: part.message }
    : { message: part, code: "" };
  return (
    /^ERR_(STREAM|HTTP2)_/.test(String(code)) || /\bwrite after end\b|^Got abort error from connection/.test(String(message))
  );
}
