/** Forwards a request into a tunnel whose connections are at this relay. */
import {
  type Destination,
  HOP_HEADER,
  HTTP_VERSION_HEADER,
  type ProxyPath,
  passedHeaders,
  RUNTIME_TOKEN_HEADER,
} from "@perdure/tunnel";
import type { RelayConnection } from "./connection.js";
import type { RelayEnvironment } from "./environments.js";
import type { RelayMetrics } from "./metrics.js";
import type { ProxyRequest } from "./proxy-request.js";
import type { TransferThrottle } from "./throttle.js";
import type { Carrier, ForwardingPolicy } from "./tunneled-request.js";
import type { OpenTunnels } from "./tunnels.js";
import type { TunnelUsageBook } from "./usage.js";

/** A request with its authenticated caller and its destination. */
export interface ProxyRoute {
  readonly request: ProxyRequest;
  readonly environment: RelayEnvironment;
  readonly place: ProxyPath;
  readonly destination: Destination;
  /** Traceparent of the span here; undefined: the runtime's own is forwarded, if it sent one. */
  readonly traceparent: string | undefined;
}

interface LocalForwardingPorts {
  readonly tunnels: OpenTunnels;
  readonly usage: TunnelUsageBook;
  readonly metrics: RelayMetrics | undefined;
}

const NOT_PASSED: ReadonlySet<string> = new Set(["host", RUNTIME_TOKEN_HEADER, HOP_HEADER]);

export class LocalForwarding implements ForwardingPolicy {
  readonly #way: ProxyRoute;
  readonly #ports: LocalForwardingPorts;
  readonly #throttle: TransferThrottle;

  constructor(way: ProxyRoute, ports: LocalForwardingPorts, throttle: TransferThrottle) {
    this.#way = way;
    this.#ports = ports;
    this.#throttle = throttle;
  }

  /** A carrier over the least busy connection but `declined`, or the reason why there is none. */
  carrier(declined?: Carrier): LocalCarrier | "unconnected" | "undeclared" | "full" {
    const { environment, place, destination } = this.#way;
    // Official clients use `localhost` for their own machine, and so does `tunnel://`.
    const localPort = destination.host === "localhost" ? destination.port : undefined;
    const but = declined instanceof LocalCarrier ? declined.connection : undefined;
    const choice = this.#ports.tunnels.choose(environment.facts.id, place.name, localPort, but);
    if (choice.kind !== "connection") return choice.kind;
    return choice.connection.isFull ? "full" : new LocalCarrier(choice.connection, this.#way);
  }

  another(declined: Carrier): Carrier | undefined {
    const carrier = this.carrier(declined);
    return typeof carrier === "string" ? undefined : carrier;
  }

  retried(): void {
    this.#ports.metrics?.retried();
  }

  pauseMs(bytes: number): number {
    return this.#throttle.pauseMs(this.#way.environment.facts.id, bytes);
  }

  ended(bytes: number): void {
    this.#ports.usage.of(this.#way.environment.facts.id).tunnelBytes += bytes;
    this.#ports.metrics?.bytes(bytes);
  }
}

class LocalCarrier implements Carrier {
  readonly connection: RelayConnection;
  readonly #way: ProxyRoute;

  constructor(connection: RelayConnection, way: ProxyRoute) {
    this.connection = connection;
    this.#way = way;
  }

  get mayDecline(): boolean {
    return this.connection.facts.supportsClientDrain;
  }

  declined(): void {
    this.connection.clientLeft();
  }

  open(endStream: boolean) {
    const { request, place, destination, traceparent } = this.#way;
    const headers: Record<string, string | string[]> = passedHeaders(request.headers, NOT_PASSED);
    if (request.isHttp1) headers[HTTP_VERSION_HEADER] ??= "HTTP/1.1";
    if (traceparent !== undefined) headers["traceparent"] = traceparent;
    headers[":method"] = request.method;
    headers[":scheme"] = destination.scheme;
    headers[":authority"] = `${destination.host}:${destination.port}`;
    headers[":path"] = place.rest;
    return this.connection.request(headers, endStream);
  }
}
