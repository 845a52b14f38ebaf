/** The addresses that clients reach a process at: checked before anything else starts, bound when requests can be answered. */
import { createServer } from "node:net";
import { PerdureError } from "@perdure/base";
import type { ListenAddress } from "@perdure/http-server";
import type { ProcessPart } from "../lifecycle.js";
import { holderOf, otherHolderOf } from "../port-holder.js";

/** An address as the settings have it; without `bindAddress`, or with `*`, every address of the machine. */
export interface ListenerSettings {
  readonly bindAddress?: string | undefined;
  readonly bindPort: number;
}

export function listenOn({ bindAddress, bindPort }: ListenerSettings): ListenAddress {
  return bindAddress === undefined || bindAddress === "*" ? { port: bindPort } : { host: bindAddress, port: bindPort };
}

/** Whether other machines may reach it. Of host names only `localhost` certainly means this machine. */
export function isBeyondLoopback(settings: ListenerSettings): boolean {
  const { host } = listenOn(settings);
  return host === undefined || !/^(localhost|127(\.\d{1,3}){3}|::1|0:0:0:0:0:0:0:1)$/i.test(host);
}

/**
 * Binds and closes again; rejects with RT0004, which names `setting` (`ingress.bind-port`) and, where the system shows it, the process
 * that uses the address. The port itself is bound later, and may still be refused then.
 */
export function checkAddress(settings: ListenerSettings, setting: string): Promise<void> {
  if (settings.bindPort === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (cause) => reject(addressError(cause, listenOn(settings), setting)));
    probe.listen(listenOn(settings), () => probe.close(() => resolve()));
  });
}

/**
 * Checks a port that the listeners of this process share: another program that shares it, too, is not noticed by the system. Throws RT0004,
 * which names that program.
 */
export function checkUnshared({ bindAddress = "*" }: ListenerSettings, port: number, setting: string): void {
  const holder = otherHolderOf(port);
  if (holder === undefined) return;
  const why = `used by process ${holder.pid} (${holder.command}) as well`;
  throw new PerdureError("RT0004", `cannot listen on ${bindAddress}:${port} (${setting}): ${why}`);
}

function addressError(cause: NodeJS.ErrnoException, { host = "*", port }: ListenAddress, setting: string): PerdureError {
  const holder = cause.code === "EADDRINUSE" ? holderOf(port) : undefined;
  const why = holder === undefined ? cause.message : `in use by process ${holder.pid} (${holder.command})`;
  return new PerdureError("RT0004", `cannot listen on ${host}:${port} (${setting}): ${why}`, { cause });
}

/** A bound listener as a part of the process. */
export interface BoundListener extends ProcessPart {
  readonly port: number;
}

/** `listen` binds (RT0004), `drain` lets running requests finish, `close` ends the remaining ones at once. */
export async function openListener(
  settings: ListenerSettings,
  listen: (address: ListenAddress) => Promise<{ readonly port: number }>,
  drain: () => Promise<void>,
): Promise<BoundListener> {
  const { port } = await listen(listenOn(settings));
  return { port, drain, [Symbol.asyncDispose]: drain };
}
