import { once } from "node:events";
import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { SummaryLog, silentLogger, systemClock } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { PEERS_LOOKUP_MS } from "./limits.js";
import { RelayPeers } from "./peers.js";

const HOST = "relays.internal";
const PLACE = (name: string) => ({ bare: "env1", name }) as unknown as Parameters<RelayPeers["whoHolds"]>[0];

/** Tunnels of the relay at each loopback address. */
let tunnels: Map<string, Set<string>>;
let servers: Http2Server[];
let port: number;
/** Addresses of the name now; undefined: it cannot be resolved. */
let addresses: readonly string[] | undefined;
let lookups: string[];
let clock: VirtualClock;
let peers: RelayPeers;

async function serve(address: string, ...names: readonly string[]): Promise<void> {
  tunnels.set(address, new Set(names));
  const server = createServer();
  server.on("stream", (stream, headers) => {
    const held = tunnels.get(address)?.has(String(headers[":path"]).replace("/_/held/env1/", "")) === true;
    stream.respond({ ":status": held ? 204 : 404 }, { endStream: true });
  });
  server.listen(port, address);
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  servers.push(server);
}

beforeEach(() => {
  [tunnels, servers, port, addresses, lookups, clock] = [new Map(), [], 0, [], [], new VirtualClock()];
});
afterEach(() => {
  peers.close();
  for (const server of servers) server.close();
});

function open(): void {
  const addressesOf = async (host: string): Promise<readonly string[]> => {
    lookups.push(host);
    if (addresses === undefined) throw new Error(`getaddrinfo ENOTFOUND ${host}`);
    return addresses;
  };
  // Timeouts of requests in real time; the age of look-ups by the test.
  const both = { ...systemClock, monotonicMs: () => clock.monotonicMs() };
  const failures = new SummaryLog(silentLogger, both);
  const places = { urls: [], service: `http://${HOST}:${port}` };
  peers = new RelayPeers(places, () => undefined, { clock: both, logger: silentLogger, failures, addressesOf });
}
const holderOf = async (name: string): Promise<string | undefined> => (await peers.whoHolds(PLACE(name), "token"))?.origin;

test("relays behind one name are found as they come and go, by look-ups that calls share for a while", async () => {
  await serve("127.0.0.1", "a");
  await serve("127.0.0.2", "b");
  addresses = ["127.0.0.1"];
  open();
  expect(peers.isSome).toBe(true);
  expect(await Promise.all([holderOf("a"), holderOf("b")])).toEqual([`http://127.0.0.1:${port}`, undefined]);
  expect(lookups).toEqual([HOST]);
  addresses = ["127.0.0.1", "127.0.0.2"];
  expect(await holderOf("b")).toBeUndefined();
  clock.advanceBy(PEERS_LOOKUP_MS);
  expect(await holderOf("b")).toBe(`http://127.0.0.2:${port}`);
  addresses = ["127.0.0.2"];
  clock.advanceBy(PEERS_LOOKUP_MS);
  expect(await holderOf("a")).toBeUndefined();
  expect(lookups).toHaveLength(3);
});

test("while the name cannot be resolved the relays of the last time count", async () => {
  await serve("127.0.0.1", "a");
  addresses = ["127.0.0.1"];
  open();
  expect(await holderOf("x")).toBeUndefined();
  addresses = undefined;
  clock.advanceBy(PEERS_LOOKUP_MS);
  expect(await holderOf("a")).toBe(`http://127.0.0.1:${port}`);
  expect(lookups).toHaveLength(2);
});
