/**
 * Checks whether a Redis that the platform does not run can be used, and otherwise why not: no answer, refused credentials, or settings
 * under which data would be lost. Uses one connection for a few reads, and writes nothing.
 */
import { type Logger, present } from "@perdure/base";
import { PROBE_MS_MAX } from "./limits.js";
import { type CommandReply, RedisLink } from "./link.js";
import type { RedisConnectionOptions } from "./options.js";

export type RedisProbe =
  /** `isDurable`: the server keeps an append-only file; undefined when the user may not read the setting. */
  | { readonly kind: "answers"; readonly isDurable: boolean | undefined }
  /** Redis evicts data when it is full. */
  | { readonly kind: "evicts"; readonly policy: string }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "silent"; readonly reason: string };

/** Errors of a server that refuses the credentials. */
const REFUSED = /^(NOAUTH|WRONGPASS|NOPERM|ERR (invalid password|AUTH)|ERR Client sent AUTH)/;
const POLL_MS = 25;

/** Never rejects. */
export async function probeRedis(options: RedisConnectionOptions, logger: Logger): Promise<RedisProbe> {
  const link = new RedisLink({ ...options, replicas: 0 }, "probe", logger);
  try {
    return await probeLink(link);
  } finally {
    await link[Symbol.asyncDispose]();
  }
}

async function probeLink(link: RedisLink): Promise<RedisProbe> {
  const deadline = performance.now() + PROBE_MS_MAX;
  for (;;) {
    const [pong, info] = await link.send([["PING"], ["INFO"]], false, false);
    if (!(pong instanceof Error)) return probeOf(present(info));
    const reason = pong.message;
    if (REFUSED.test(reasonWithin(reason))) return { kind: "refused", reason: reasonWithin(reason) };
    if (performance.now() > deadline) return { kind: "silent", reason };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The reply of the server within the reason of a failed connection. */
const reasonWithin = (reason: string): string => reason.replace(/^there is no connection to Redis: /, "");

function probeOf(info: CommandReply): RedisProbe {
  // Reading settings is not allowed, as on many managed servers.
  if (info instanceof Error) return { kind: "answers", isDurable: undefined };
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(String(info))?.[1];
  const policy = field("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") return { kind: "evicts", policy };
  const file = field("aof_enabled");
  return { kind: "answers", isDurable: file === undefined ? undefined : file === "1" };
}
