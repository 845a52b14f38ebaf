/** Why: the addresses people reach the server at: checked before anything else starts, bound when there is somebody to answer. */
import { createServer } from "node:net";
import { PerdureError } from "@perdure/base";
import type { Part } from "../lifecycle.js";

/** An address as the settings have it; without `bindAddress`, or with `*`, every address of the machine. */
export interface DoorSettings {
  readonly bindAddress?: string | undefined;
  readonly bindPort: number;
}

export interface ListenAddress {
  readonly host?: string;
  readonly port: number;
}

export function listenOn({ bindAddress, bindPort }: DoorSettings): ListenAddress {
  return bindAddress === undefined || bindAddress === "*" ? { port: bindPort } : { host: bindAddress, port: bindPort };
}

/** Whether other machines may reach it. Of host names only `localhost` is known to be this machine. */
export function isBeyondLoopback(settings: DoorSettings): boolean {
  const { host } = listenOn(settings);
  return host === undefined || !/^(localhost|127(\.\d{1,3}){3}|::1|0:0:0:0:0:0:0:1)$/i.test(host);
}

/** Binds and lets go again; rejects with RT0004. The door itself is bound later and has the last word. */
export function checkAddress(settings: DoorSettings): Promise<void> {
  if (settings.bindPort === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (cause: Error) => {
      const { host = "*", port } = listenOn(settings);
      reject(new PerdureError("RT0004", `cannot listen on ${host}:${port}: ${cause.message}`, { cause }));
    });
    probe.listen(listenOn(settings), () => probe.close(() => resolve()));
  });
}

/** A bound door as a part of the process. */
export interface Door extends Part {
  readonly port: number;
}

/** `listen` binds (RT0004), `drain` lets running requests finish, `close` ends at once what is left. */
export async function openDoor(
  settings: DoorSettings,
  listen: (address: ListenAddress) => Promise<{ readonly port: number }>,
  drain: () => Promise<void>,
): Promise<Door> {
  const { port } = await listen(listenOn(settings));
  return { port, drain, [Symbol.asyncDispose]: drain };
}
