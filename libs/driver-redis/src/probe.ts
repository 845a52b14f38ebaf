/**
 * Why: whoever is told of a Redis that somebody else runs should say soon whether it can be used, and why not: nobody answers, it does not
 * let us in, or it would lose what it is given. One connection, a few questions, and gone; nothing is written.
 */
import type { Logger } from "@perdure/base";
import { PROBE_MS_MAX } from "./limits.js";
import { type CommandReply, RedisLink } from "./link.js";
import type { RedisConnectionOptions } from "./options.js";

export type RedisProbe =
  /** `isDurable`: it keeps an append-only file; undefined when it may not be asked. */
  | { readonly kind: "answers"; readonly isDurable: boolean | undefined }
  /** It throws data away when it is full. */
  | { readonly kind: "evicts"; readonly policy: string }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "silent"; readonly reason: string };

/** What a server says that does not know us, or not by this password. */
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
    if (!(pong instanceof Error)) return probeOf(info as CommandReply);
    const reason = pong.message;
    if (REFUSED.test(reasonWithin(reason))) return { kind: "refused", reason: reasonWithin(reason) };
    if (performance.now() > deadline) return { kind: "silent", reason };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** What the server said, when it is told as the reason of a connection that did not come about. */
const reasonWithin = (reason: string): string => reason.replace(/^there is no connection to Redis: /, "");

function probeOf(info: CommandReply): RedisProbe {
  if (info instanceof Error) return { kind: "answers", isDurable: undefined }; // It may not be asked, as managed ones often may not.
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(String(info))?.[1];
  const policy = field("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") return { kind: "evicts", policy };
  const file = field("aof_enabled");
  return { kind: "answers", isDurable: file === undefined ? undefined : file === "1" };
}
