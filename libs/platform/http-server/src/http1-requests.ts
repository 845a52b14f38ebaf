/** Requests of HTTP/1.1: which are served, in which order, and what is answered to bytes that are not a request. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, handleErrors } from "@perdure/base";
import type { ExchangeContext } from "./exchange.js";
import type { FirstHeaders } from "./first-headers.js";
import { passesGuard } from "./guard.js";
import { Http1Exchange } from "./http1-exchange.js";
import type { Http1Server } from "./http1-server.js";
import * as limits from "./limits.js";
import { boundRestOfBody, isLeaving } from "./linger.js";
import type { HttpHandlers, HttpPortOptions } from "./options.js";
import {
  type ErrorForm,
  lacksHost,
  NO_TUNNELS,
  plainErrorForm,
  reasonOf,
  refuseUnreadable,
  refuseWithoutHost,
} from "./unreadable.js";

/** Requests of one connection that are not answered in full. */
interface Pipeline {
  waiting: number;
  newest: ServerResponse;
  /** Undefined when the port's handler takes Node's objects. */
  exchange: Http1Exchange | undefined;
}

interface Http1Ports {
  readonly clock: Clock;
  readonly firstHeaders: FirstHeaders;
  readonly exchangeContext: ExchangeContext;
  readonly isClosing: () => boolean;
}

export class Http1Requests {
  readonly #handlers: HttpHandlers;
  readonly #options: HttpPortOptions;
  readonly #ports: Http1Ports;
  readonly #errorForm: ErrorForm;
  readonly #pipelinedMax: number;
  readonly #pipelines = new WeakMap<Duplex, Pipeline>();
  /** One listener for all answers: a closure for each would cost. */
  readonly #answered: (this: ServerResponse) => void;

  constructor(handlers: HttpHandlers, options: HttpPortOptions, ports: Http1Ports) {
    this.#handlers = handlers;
    this.#options = options;
    this.#ports = ports;
    this.#errorForm = options.errorForm ?? plainErrorForm;
    const pipelines = this.#pipelines;
    const { clock, exchangeContext } = ports;
    this.#answered = function answered(this: ServerResponse): void {
      const pipeline = pipelines.get(this.req.socket);
      if (pipeline !== undefined) pipeline.waiting--;
      if (!isLeaving(this.req.socket)) boundRestOfBody(this.req, clock, exchangeContext.lingerMs);
    };
    this.#pipelinedMax = options.pipelinedMax ?? Number.POSITIVE_INFINITY;
  }

  serve(server: Http1Server): void {
    const serve = (req: IncomingMessage, res: ServerResponse): void => this.#serve(req, res, false);
    server.on("request", serve);
    server.on("checkExpectation", serve); // An unknown `expect` is ignored; Node would refuse it with 417.
    // Without a listener Node answers `expect: 100-continue` itself.
    if ("exchange" in this.#handlers) server.on("checkContinue", (req, res) => this.#serve(req, res, true));
    server.on("connect", (_req, socket: Duplex) => {
      handleErrors(socket); // Node has removed its own listener.
      refuseUnreadable(socket, NO_TUNNELS, this.#errorForm);
    });
    server.on("clientError", (cause: NodeJS.ErrnoException, socket: Duplex) => {
      handleErrors(socket);
      this.#refuse(cause, socket);
    });
  }

  #serve(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void {
    const { socket } = req;
    const { clock, firstHeaders, exchangeContext, isClosing } = this.#ports;
    firstHeaders.arrived(socket);
    if (isLeaving(socket)) return; // Pipelined behind an answer that closes.
    const pipeline = this.#begun(socket, res);
    if (pipeline.waiting > this.#pipelinedMax) return void socket.destroy();
    res.once("finish", this.#answered);
    if (isClosing()) res.shouldKeepAlive = false; // express has a prototype of its own for answers.
    if (this.#options.checksHost !== false && lacksHost(req)) return refuseWithoutHost(res, this.#errorForm);
    const { guard } = this.#options;
    if (guard !== undefined && !passesGuard(guard, req, res, clock)) return;
    const handlers = this.#handlers;
    if (!("exchange" in handlers)) return handlers.request(req, res);
    const exchange = new Http1Exchange(req, res, expectsContinue, exchangeContext);
    pipeline.exchange = exchange;
    handlers.exchange(exchange);
  }

  #begun(socket: Socket, res: ServerResponse): Pipeline {
    const pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      const first: Pipeline = { waiting: 1, newest: res, exchange: undefined };
      this.#pipelines.set(socket, first);
      return first;
    }
    pipeline.waiting++;
    pipeline.newest = res;
    pipeline.exchange = undefined;
    return pipeline;
  }

  #refuse(cause: NodeJS.ErrnoException, socket: Duplex): void {
    const { waiting, newest, exchange } = this.#pipelines.get(socket) ?? NO_PIPELINE;
    // After an answer that has begun, or before one to an earlier request, the client would read the refusal as part of it.
    const isAmbiguous = waiting > 1 || (waiting === 1 && newest?.headersSent === true);
    const isBroken = cause.code === "ECONNRESET" || cause.code === "EPIPE";
    if (!socket.writable || isAmbiguous || isBroken) return void socket.destroy();
    // The client would take anything for the answer to the request whose body it sends, so the handler gives that answer.
    if (waiting === 1 && exchange?.bodyBroke() === true) return;
    refuseUnreadable(socket, reasonOf(cause, this.#options.headerBytesMax ?? limits.headerBytesMaxDefault), this.#errorForm);
  }
}

const NO_PIPELINE: Partial<Pipeline> & { readonly waiting: number } = { waiting: 0 };
