/** Why: the thread that runs statements opens Redis itself, and what starts a thread is text. */
import { PerdureError, Secret } from "@perdure/base";
import type { RedisOptions } from "@perdure/driver-redis";

interface Told {
  readonly environment: string;
  readonly redis: RedisOptions;
}

/** With its password in it: for the thread alone, never for a log. */
export function redisText({ environment, redis: { password, ...rest } }: Told): string {
  return JSON.stringify({ environment, redis: rest, password: password?.reveal() });
}

export function redisOf(text: string): Told {
  const told = JSON.parse(text) as { environment?: string; redis?: Omit<RedisOptions, "password">; password?: string };
  if (told.environment === undefined || told.redis === undefined)
    throw new PerdureError("OPS0003", "a thread was not told where Redis is");
  const { environment, redis, password } = told;
  return { environment, redis: password === undefined ? redis : { ...redis, password: new Secret(password) } };
}
