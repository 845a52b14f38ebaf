/**
 * One request handler for HTTP/1.1 and HTTP/2, over all versions of the path (admin-api.md §1.1). Express supports only HTTP/1.1 objects,
 * so HTTP/2 requests go through a second application whose prototypes are based on Node's HTTP/2 classes.
 */
import { constants, Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Logger } from "@perdure/base";
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from "express";
import { REQUESTS_MAX } from "../limits.js";
import { answerOfError, RouteError } from "./errors.js";
import { type AnyRequest, type AnyResponse, respond } from "./respond.js";

export type RequestListener = (req: AnyRequest, res: AnyResponse) => void;

const PREFIX = /^\/v(\d+)(?=[/?]|$)/;

/**
 * Serves `router` unprefixed and under `/v2` to `/v4`; everything else is a JSON error, 429 when `requestsMax` requests are in progress.
 */
export function serve(router: Router, logger: Logger, requestsMax = REQUESTS_MAX): RequestListener {
  const http1 = application(router, logger);
  const http2 = application(router, logger);
  adoptHttp2(http2);
  let open = 0;
  return (req, res) => {
    if (open >= requestsMax) {
      const { answer } = answerOfError(new RouteError(429, "Too many requests at once", undefined, { "retry-after": "1" }));
      respond(req, res, answer).catch((cause: unknown) => logger.debug({ cause }, "refusal was cut off"));
      return;
    }
    open++;
    res.once("close", () => open--);
    if (req instanceof Http2ServerRequest) endWithAnswer(req);
    const app = req instanceof Http2ServerRequest ? http2 : http1;
    Reflect.apply(app, undefined, [req, res]); // Express declares requests of HTTP/1.1 only.
  };
}

/** An unread body must not keep the stream open after the answer (RFC 9113 §8.1). */
function endWithAnswer({ stream }: Http2ServerRequest): void {
  stream.once("finish", () => {
    if (stream.readableEnded || stream.closed) return;
    stream.close(constants.NGHTTP2_NO_ERROR);
    setImmediate(() => stream.destroy()); // Otherwise the stream stays open until the received data is read.
  });
}

function application(router: Router, logger: Logger): Express {
  const app = express();
  app.disable("x-powered-by").disable("etag");
  app.enable("case sensitive routing").enable("strict routing");
  app.set("query parser", false);
  app.use(generations);
  app.use(router);
  app.use(() => {
    throw new RouteError(404, "There is nothing at this path");
  });
  app.use(respondWithError(logger));
  return app;
}

/** Removes the version from the path and stores it. The bare prefix leads to the web UI, like `/`. */
const generations: RequestHandler = (req, res, next) => {
  const match = PREFIX.exec(req.url);
  const number = Number(match?.[1]);
  if (match === null || number === 0 || number > 4 || match[1]?.startsWith("0")) return next();
  if (number === 1) {
    throw new RouteError(400, "Unsupported Admin API version V1. This server supports versions between V2 and V4.");
  }
  const rest = req.url.slice(match[0].length);
  res.locals["apiVersion"] = number;
  req.url = rest.startsWith("/") ? rest : `/${rest}`;
  next();
};

/** The one place where an error becomes a response; express passes every rejection to it. */
function respondWithError(logger: Logger): ErrorRequestHandler {
  return (cause, req, res, _next) => {
    const { answer, isOurs } = answerOfError(cause);
    if (res.headersSent || res.destroyed) {
      if (isHungUp(cause)) logger.debug({ path: req.path }, "client disconnected before the end of the response");
      else logger.warn({ cause, path: req.path }, "response was cut off");
      res.destroy();
      return;
    }
    if (!isOurs) logger.error({ cause, path: req.path }, "request failed");
    respond(req, res, answer).catch((failure: unknown) => logger.debug({ cause: failure }, "error response was cut off"));
  };
}

/** Whether the error is the one with which `pipeline` rejects when the response closes before the end. */
function isHungUp(cause: unknown): boolean {
  return typeof cause === "object" && cause !== null && "code" in cause && cause.code === "ERR_STREAM_PREMATURE_CLOSE";
}

/** Puts express's own methods in front of the HTTP/2 classes instead of the HTTP/1.1 ones. */
function adoptHttp2(app: Express): void {
  const own = (source: object) => Object.getOwnPropertyDescriptors(source);
  const settings = { app: { configurable: true, enumerable: true, writable: true, value: app } };
  app.request = Object.create(Http2ServerRequest.prototype, { ...own(express.request), ...settings }) as Express["request"];
  app.response = Object.create(Http2ServerResponse.prototype, { ...own(express.response), ...settings }) as Express["response"];
}
