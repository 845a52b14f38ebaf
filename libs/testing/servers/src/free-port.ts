/**
 * Tests run beside each other and beside real servers, so no test may use a fixed port; and a server that is stopped and started again must
 * find its port free. So ports come from below the range that the system gives to sockets without a chosen port (connections among them),
 * and test processes that run at the same time draw from ranges of their own.
 */
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { PORT_MIN, PORT_STRIPES, RANGES_PORT_MIN, SYSTEM_PORT_MIN } from "./limits.js";

const RANGE_FILE = "/proc/sys/net/ipv4/ip_local_port_range";
/** Jest numbers the processes that run suites, from 1. */
const STRIPE = Number(process.env["JEST_WORKER_ID"] ?? 0) % PORT_STRIPES;

let step: number | undefined;
/** Ports of this process's share of the ranges that it has used, modulo the size of the share. */
let rangeOffset: number | undefined;

/** Ports of 127.0.0.1 that had no listener a moment ago, all different, and none that this process was given before. */
export async function freePorts(count: number): Promise<number[]> {
  const portEnd = Math.min(systemPortMin(), RANGES_PORT_MIN);
  const steps = Math.floor((portEnd - PORT_MIN) / PORT_STRIPES);
  const ports: number[] = [];
  for (let tried = 0; ports.length < count; tried++) {
    if (tried === steps) throw new Error(`no ${count} ports of 127.0.0.1 are free between ${PORT_MIN} and ${portEnd}`);
    step = step === undefined ? Math.floor(Math.random() * steps) : (step + 1) % steps;
    const port = PORT_MIN + step * PORT_STRIPES + STRIPE;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

/**
 * `count` adjacent ports of 127.0.0.1, all free a moment ago, that `freePorts` never returns: for a program that assigns ports to its
 * children. Both ends belong to the range. Throws when this process's share of the ports has no such range.
 */
export async function freePortRange(count: number): Promise<{ readonly first: number; readonly last: number }> {
  const share = Math.floor((Math.max(systemPortMin(), RANGES_PORT_MIN) - RANGES_PORT_MIN) / PORT_STRIPES);
  const shareFirst = RANGES_PORT_MIN + STRIPE * share;
  rangeOffset ??= Math.floor(Math.random() * share);
  for (let tried = 0; tried < share; tried++) {
    if (rangeOffset + count > share) rangeOffset = 0;
    if (count > share) break;
    const first = shareFirst + rangeOffset;
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) {
      rangeOffset += count;
      return { first, last: first + count - 1 };
    }
    rangeOffset += 1;
  }
  throw new Error(`no ${count} adjacent ports of 127.0.0.1 are free between ${shareFirst} and ${shareFirst + share}`);
}

/** The system gives ports from here on to sockets that choose none. */
function systemPortMin(): number {
  if (!existsSync(RANGE_FILE)) return SYSTEM_PORT_MIN;
  return Math.max(Number.parseInt(readFileSync(RANGE_FILE, "utf8"), 10), PORT_MIN + PORT_STRIPES);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
