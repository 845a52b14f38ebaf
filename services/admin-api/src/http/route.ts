/**
 * Routes as data: the operations of the contract, each with what answers it. The router and the OpenAPI document are both made from them,
 * so the two always agree.
 */
import type { AdminOperation, OperationMethod } from "@perdure/admin-contract";
import { type Clock, systemClock } from "@perdure/base";
import { BodyGate } from "@perdure/http-server";
import { type Edge, type EdgeOperation, httpServerSpan } from "@perdure/telemetry";
import { type Request, type Response, Router } from "express";
import type { z } from "zod";
import { ALL_BODIES_BYTES_MAX, REQUEST_BODY_BYTES_MAX, REQUEST_BODY_MS } from "../limits.js";
import type { AdminMeasure } from "../metrics.js";
import type { ApiAnswer } from "./answer.js";
import { RouteError } from "./errors.js";
import { API_VERSIONS, ApiRequest } from "./request.js";
import { respond } from "./respond.js";

export interface RouteOperation {
  /** One line for the OpenAPI document. */
  readonly summary: string;
  /** The JSON body, when there is one; documented here, parsed by the handler. */
  readonly body?: z.ZodType;
  readonly query?: AdminOperation["query"];
  /** Status → when. Errors that every route can answer with are left out. */
  readonly answers: Readonly<Record<number, string>>;
  readonly results?: AdminOperation["results"];
  /** Content types of answers other than our own JSON: rows of queries, documents. */
  readonly resultTypes?: readonly string[];
  readonly isDeprecated?: boolean;
  readonly handle: (request: ApiRequest) => ApiAnswer | Promise<ApiAnswer>;
}

export interface ApiRoute {
  readonly path: AdminOperation["path"];
  /** Left out of the OpenAPI document: for our own tools, without stability guarantees. */
  readonly isInternal?: boolean;
  readonly operations: Readonly<Partial<Record<OperationMethod, RouteOperation>>>;
}

/** Part of an operation that the contract leaves to the server. */
export type RouteImplementation = Omit<RouteOperation, "query" | "results"> & Pick<ApiRoute, "isInternal">;

/** One operation of the contract with what answers it. */
export function route(
  { method, path, query, results }: AdminOperation,
  { isInternal = false, ...implementation }: RouteImplementation,
): ApiRoute {
  const contract = { ...(query === undefined ? {} : { query }), ...(results === undefined ? {} : { results }) };
  return { path, isInternal, operations: { [method]: { ...implementation, ...contract } } };
}

/** One route for each path, with all its operations. */
export function mergedByPath(routes: readonly ApiRoute[]): readonly ApiRoute[] {
  const merged = new Map<string, ApiRoute>();
  for (const { path, isInternal, operations } of routes) {
    merged.set(path, { path, isInternal: isInternal === true, operations: { ...merged.get(path)?.operations, ...operations } });
  }
  return [...merged.values()];
}

/** Observers of requests, and the clock to measure them with. */
interface RequestObservers {
  readonly measure: AdminMeasure | undefined;
  readonly clock: Clock;
  /** Undefined without tracing. */
  readonly edge?: Edge | undefined;
}

/** A router for the routes: HEAD is answered as GET, other methods of a known path are 405 with `allow`. */
export function routerOf(
  routes: readonly ApiRoute[],
  observers?: RequestObservers,
  bodiesBytesMax = ALL_BODIES_BYTES_MAX,
): Router {
  const bodies = new BodyGate(observers?.clock ?? systemClock, { ...BODY_LIMITS, bufferedBodyBytesMax: bodiesBytesMax });
  const router = Router({ caseSensitive: true, strict: true });
  for (const route of routes) {
    const allow = allowed(route);
    const operations = new Map<string, RouteOperation>(Object.entries(route.operations));
    router.all(route.path.replace(/\{(\w+)\}/g, ":$1").replace(/\{(\*\w+)\}/g, "$1"), async (req, res) => {
      const method = req.method === "HEAD" ? "GET" : req.method;
      const closed = new AfterClose(res);
      if (observers !== undefined) measured(observers, res, closed, method, route.path);
      const edge = PROBED.has(route.path) ? undefined : observers?.edge;
      const span = edge === undefined ? undefined : traced(edge, req, res, closed, method, route.path);
      const operation = operations.get(method);
      if (operation === undefined)
        throw new RouteError(405, `The method ${req.method} is not allowed here`, undefined, { allow });
      const handle = () => operation.handle(apiRequest(req, res, closed, bodies));
      await respond(req, res, await (span === undefined ? handle() : span.run(handle)));
    });
  }
  return router;
}

/** Operators send bodies by hand too, so there is no least rate. */
const BODY_LIMITS = { requestBytesMax: REQUEST_BODY_BYTES_MAX, bodyTimeoutMs: REQUEST_BODY_MS, bodyBytesPerSecondMin: 0 };

/** Probes and scrapes come every few seconds and belong to no trace. */
const PROBED: ReadonlySet<string> = new Set(["/health", "/livez", "/readyz", "/metrics"]);

/**
 * Tasks for the end of the answer, behind one listener: Node's pipeline, Express and the HTTP port add several listeners each, and Node
 * warns of a leak at more than ten.
 */
class AfterClose {
  readonly #tasks: (() => void)[] = [];

  constructor(res: Response) {
    res.once("close", () => {
      for (const task of this.#tasks) task();
    });
  }

  /** `task` must not throw. */
  add(task: () => void): void {
    this.#tasks.push(task);
  }
}

/** The span of a request, named by its route pattern. */
function traced(edge: Edge, req: Request, res: Response, closed: AfterClose, method: string, path: string): EdgeOperation {
  const span = edge.begin(req.get("traceparent"), req.get("x-perdure-trace") === "1");
  closed.add(() => {
    const { statusCode } = res;
    const facts = { method, route: path, httpVersion: httpVersionOf(req.httpVersionMajor), status: statusCode };
    // A proxy in front of the process terminates TLS.
    span.note(
      httpServerSpan({ ...facts, scheme: "http", host: req.headers.host ?? authorityOf(req), userAgent: req.get("user-agent") }),
    );
    span.end(statusCode >= 500 ? String(statusCode) : undefined);
  });
  return span;
}

const httpVersionOf = (major: number): string => (major === 2 ? "2" : "1.1");

/** The host from HTTP/2's pseudo header. */
function authorityOf({ headers }: Request): string | undefined {
  const value = headers[":authority"];
  return typeof value === "string" ? value : undefined;
}

function measured({ measure, clock }: RequestObservers, res: Response, closed: AfterClose, method: string, path: string): void {
  const sinceMs = clock.monotonicMs();
  const status = (): number | undefined => (res.writableFinished ? res.statusCode : undefined);
  if (measure === undefined) return;
  closed.add(() => measure(method, path, status(), clock.monotonicMs() - sinceMs));
}

/** One reason for all requests: an error of its own for each, with its stack, took 6 % of the time of a small statement. */
const CLOSED = new Error("the response is closed");

function apiRequest(req: Request, res: Response, closed: AfterClose, bodies: BodyGate): ApiRequest {
  const hangUp = new AbortController();
  closed.add(() => hangUp.abort(CLOSED));
  const params = Object.entries(req.params).map(([name, value]) => [name, Array.isArray(value) ? value.join("/") : value]);
  const version = API_VERSIONS.find((one) => one === res.locals["apiVersion"]);
  return new ApiRequest(req, version, Object.fromEntries(params), hangUp.signal, bodies);
}

function allowed(route: ApiRoute): string {
  return Object.keys(route.operations)
    .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .join(",");
}
