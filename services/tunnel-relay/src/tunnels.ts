/**
 * The open connections by environment and name: checks the limits for new ones and chooses a connection for each request (cloud.md §2.3,
 * §2.6).
 */
import { present } from "@perdure/base";
import type { EnvironmentFacts, EnvironmentId } from "@perdure/cloud";
import type { RelayConnection } from "./connection.js";
import { CONNECTIONS_MAX, CONNECTIONS_PER_NAME_MAX } from "./limits.js";

/** All connections of one name. */
class TunnelName {
  readonly connections: RelayConnection[] = [];
  /** Handshakes that hold a reservation. */
  reserved = 0;
  /** Index where the search for the least busy connection begins, so that equally busy ones alternate. */
  turn = 0;
}

interface OfEnvironment {
  readonly names: Map<string, TunnelName>;
  connections: number;
}

type TunnelChoice =
  | { readonly kind: "connection"; readonly connection: RelayConnection }
  /** The name has no connection here. */
  | { readonly kind: "unconnected" }
  /** The name has connections, but none of them serves this port. */
  | { readonly kind: "undeclared" };

export class OpenTunnels {
  readonly #environments = new Map<EnvironmentId, OfEnvironment>();
  #connections = 0;

  get connections(): number {
    return this.#connections;
  }

  get names(): number {
    let count = 0;
    for (const { names } of this.#environments.values()) count += names.size;
    return count;
  }

  /** Reserves one more connection until `release`; false when a limit is reached. */
  reserve({ id, limits }: EnvironmentFacts, name: string): boolean {
    const existing = this.#environments.get(id);
    const named = existing?.names.get(name);
    const perName = Math.min(CONNECTIONS_PER_NAME_MAX, Math.ceil(limits.tunnelConnectionsMax / 2));
    const isFull =
      this.#connections >= CONNECTIONS_MAX ||
      (existing?.connections ?? 0) >= limits.tunnelConnectionsMax ||
      (named === undefined ? (existing?.names.size ?? 0) >= limits.tunnelNamesMax : sizeOf(named) >= perName);
    if (isFull) return false;
    const { ofEnvironment, ofName } = this.#open(id, name);
    ofName.reserved++;
    ofEnvironment.connections++;
    this.#connections++;
    return true;
  }

  /** Ends a reservation: the handshake succeeded or failed. */
  release(id: EnvironmentId, name: string): void {
    const { ofEnvironment, ofName } = this.#open(id, name);
    ofName.reserved--;
    ofEnvironment.connections--;
    this.#connections--;
    this.#removeUnused(id, name, ofEnvironment, ofName);
  }

  add(connection: RelayConnection): void {
    const { ofEnvironment, ofName } = this.#open(connection.environmentId, connection.name);
    ofName.connections.push(connection);
    ofEnvironment.connections++;
    this.#connections++;
  }

  remove(connection: RelayConnection): void {
    const { environmentId, name } = connection;
    const existing = this.#environments.get(environmentId);
    const named = existing?.names.get(name);
    const at = named?.connections.indexOf(connection) ?? -1;
    if (existing === undefined || named === undefined || at < 0) return;
    named.connections.splice(at, 1);
    existing.connections--;
    this.#connections--;
    this.#removeUnused(environmentId, name, existing, named);
  }

  has(environmentId: EnvironmentId, name: string): boolean {
    const named = this.#environments.get(environmentId)?.names.get(name);
    return named?.connections.some((connection) => connection.rank > 0) ?? false;
  }

  /** Requests under way over all connections of a name. */
  inFlight(environmentId: EnvironmentId, name: string): number {
    let count = 0;
    for (const connection of this.#environments.get(environmentId)?.names.get(name)?.connections ?? [])
      count += connection.inFlight;
    return count;
  }

  /**
   * The least busy connection of the best rank that serves the port. `localPort` is undefined when the request names another machine than
   * the client's: the client itself then decides whether it serves the destination.
   */
  choose(
    environmentId: EnvironmentId,
    name: string,
    localPort: number | undefined,
    but: RelayConnection | undefined,
  ): TunnelChoice {
    const named = this.#environments.get(environmentId)?.names.get(name);
    const connections = named?.connections ?? [];
    const count = connections.length;
    if (named === undefined || count === 0) return NO_CONNECTION;
    let best: RelayConnection | undefined;
    let isThere = false;
    const first = named.turn++ % count;
    for (let i = 0; i < count; i++) {
      const connection = present(connections[(first + i) % count]);
      if (connection.rank === 0 || connection === but) continue;
      isThere = true;
      if (localPort !== undefined && connection.ports !== undefined && !connection.ports.includes(localPort)) continue;
      if (best === undefined || isBetter(connection, best)) best = connection;
    }
    if (best !== undefined) return { kind: "connection", connection: best };
    return isThere ? UNDECLARED : NO_CONNECTION;
  }

  *all(): Generator<RelayConnection> {
    for (const { names } of this.#environments.values()) {
      for (const { connections } of names.values()) yield* connections;
    }
  }

  /** A copy, so that connections may be removed during iteration. */
  of(environmentId: EnvironmentId): readonly RelayConnection[] {
    const names = this.#environments.get(environmentId)?.names;
    return names === undefined ? [] : [...names.values()].flatMap(({ connections }) => connections);
  }

  #open(id: EnvironmentId, name: string): { readonly ofEnvironment: OfEnvironment; readonly ofName: TunnelName } {
    let ofEnvironment = this.#environments.get(id);
    if (ofEnvironment === undefined) {
      ofEnvironment = { names: new Map(), connections: 0 };
      this.#environments.set(id, ofEnvironment);
    }
    let ofName = ofEnvironment.names.get(name);
    if (ofName === undefined) {
      ofName = new TunnelName();
      ofEnvironment.names.set(name, ofName);
    }
    return { ofEnvironment, ofName };
  }

  #removeUnused(id: EnvironmentId, name: string, ofEnvironment: OfEnvironment, ofName: TunnelName): void {
    if (sizeOf(ofName) === 0) ofEnvironment.names.delete(name);
    if (ofEnvironment.names.size === 0) this.#environments.delete(id);
  }
}

function sizeOf({ connections, reserved }: TunnelName): number {
  return connections.length + reserved;
}

function isBetter(one: RelayConnection, other: RelayConnection): boolean {
  return one.rank === other.rank ? one.inFlight < other.inFlight : one.rank > other.rank;
}

const NO_CONNECTION: TunnelChoice = { kind: "unconnected" };
const UNDECLARED: TunnelChoice = { kind: "undeclared" };
