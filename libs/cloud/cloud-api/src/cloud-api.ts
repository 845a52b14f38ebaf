/**
 * The Cloud API (cloud.md §1.3, §1.9): `POST /cloud/<operation>` and `/cloud/<account>/<operation>`, JSON both ways. Authenticates the
 * token of each call; `dispatch.ts` does the rest.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type ApiFailurePorts,
  apiErrorOf,
  errorBody,
  logFailure,
  PlanLimitError,
  TenancyApiError,
  unauthenticated,
} from "@perdure/cloud-requests";
import { clientOf, requesterOf, requestIdOf } from "@perdure/identity";
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from "express";
import { PROXY_PREFIX } from "./console-paths.js";
import { answerAccountOperation, answerUserOperation } from "./dispatch.js";
import { HSTS_SECONDS } from "./limits.js";
import { OpenRequests } from "./open-requests.js";
import { OperationCall } from "./operation.js";
import type { TenancyOptions, TenancyPorts } from "./ports.js";

/** Serves HTTP/1.1. `more`: other routes at the same origin, which run before the final 404. */
export function createCloudApi(
  ports: TenancyPorts,
  options: TenancyOptions,
  more: readonly Router[] = [],
): (req: IncomingMessage, res: ServerResponse) => void {
  const app = express();
  app.disable("x-powered-by").disable("etag");
  app.enable("case sensitive routing").enable("strict routing");
  app.set("query parser", false);
  app.use(named(options), onlyByTls(ports), bounded(options));
  app.post("/cloud/:operation", async (req, res) => {
    await answerUserOperation(await bearersCall(ports, options, req, res), String(req.params["operation"]), req, res);
  });
  app.post("/cloud/:account/:operation", async (req, res) => {
    const { account, operation } = req.params;
    await answerAccountOperation(await bearersCall(ports, options, req, res), String(account), String(operation), req, res);
  });
  app.all(["/cloud/:operation", "/cloud/:account/:operation"], () => {
    throw new TenancyApiError("PERD0405", "Operations need the method POST", { allow: "POST" });
  });
  for (const router of more) app.use(router);
  app.use(() => {
    throw new TenancyApiError("PERD0404", "There is nothing at this path");
  });
  app.use(respondWithError(ports));
  return app as Express & ((req: IncomingMessage, res: ServerResponse) => void);
}

async function bearersCall(ports: TenancyPorts, options: TenancyOptions, req: Request, res: Response): Promise<OperationCall> {
  const header = req.headers.authorization;
  const token = /^bearer (\S+)$/i.exec(header ?? "")?.[1];
  const verified = token === undefined ? undefined : await ports.tokens.verify(token);
  if (verified === undefined) throw unauthenticated(header !== undefined);
  const { userId } = verified;
  return new OperationCall(ports, options, { userId, ...requesterOf(req, res) });
}

/** Gives every request an id, which users can quote, and finds its client address. */
function named({ trustedProxies }: TenancyOptions): RequestHandler {
  return (req, res, next) => {
    const id = randomUUID();
    res.locals["requestId"] = id;
    const peer = req.socket.remoteAddress;
    res.locals["remoteAddress"] = peer === undefined ? undefined : (trustedProxies?.clientOf(peer, req.rawHeaders) ?? peer);
    res.setHeader("x-request-id", id);
    res.setHeader("cache-control", "no-store");
    next();
  };
}

/**
 * Sends HSTS where the API is reached by https, also when a load balancer terminates TLS: browsers then never use http. Not for
 * development on this machine, since other programs use the name `localhost` too.
 */
function onlyByTls({ addresses, tokens }: Pick<TenancyPorts, "addresses" | "tokens">): RequestHandler {
  const urls = [new URL(addresses.consoleUrl), new URL(tokens.issuer)];
  const hosts = new Set(urls.filter(({ protocol }) => protocol === "https:").map(({ host }) => host));
  return (req, res, next) => {
    const host = req.headers.host?.toLowerCase() ?? "";
    if (hosts.has(host) && !/^(?:.+\.)?localhost(?::\d+)?$/.test(host)) {
      res.setHeader("strict-transport-security", `max-age=${HSTS_SECONDS}`);
    }
    next();
  };
}

function bounded({ requests }: TenancyOptions): RequestHandler {
  const open = new OpenRequests(requests);
  return (req, res, next) => {
    // These may take hours and have a bound of their own.
    if (!req.url.startsWith(PROXY_PREFIX)) res.once("close", open.enter(clientOf(req, res)));
    next();
  };
}

/** The one place where an error becomes a response; express passes every rejection to it. */
function respondWithError(ports: ApiFailurePorts & Pick<TenancyPorts, "onPlanLimit">): ErrorRequestHandler {
  return (cause, req, res, _next) => {
    const { error, isExpected } = apiErrorOf(
      cause instanceof URIError ? new TenancyApiError("PERD0400", "Malformed URL") : cause,
    );
    if (error instanceof PlanLimitError) ports.onPlanLimit?.(error.quota);
    if (!isExpected)
      logFailure(ports, cause, { path: req.path, requestId: requestIdOf(res) }, "a request of the Cloud API failed");
    if (res.headersSent || res.destroyed) {
      res.destroy();
      return;
    }
    const body = Buffer.from(JSON.stringify(errorBody(error, requestIdOf(res))), "utf8");
    res.writeHead(error.status, { ...error.headers, "content-type": "application/json", "content-length": body.length });
    res.end(body);
  };
}
