/**
 * Location of the data as text: the process that runs statements opens Redis and the archive itself, and receives its parameters as text.
 */
import { PerdureError, Secret } from "@perdure/base";
import type { RedisConnectionOptions } from "@perdure/redis";

interface DataLocation {
  readonly environment: string;
  readonly redis: RedisConnectionOptions;
  readonly postgresUrl: string;
}

/** Contains passwords: for the process alone, never for a log. */
export function whereText({ environment, redis: { password, ...rest }, postgresUrl }: DataLocation): string {
  return JSON.stringify({ environment, redis: rest, password: password?.reveal(), postgresUrl });
}

/** Throws OPS0003 when the text does not have this form. */
export function whereOf(text: string): DataLocation {
  const parsed = JSON.parse(text) as Partial<DataLocation> & {
    redis?: Omit<RedisConnectionOptions, "password">;
    password?: string;
  };
  const { environment, redis, password, postgresUrl } = parsed;
  if (environment === undefined || redis === undefined || postgresUrl === undefined)
    throw new PerdureError("OPS0003", "the process for SQL received no valid location of Redis and the archive");
  return { environment, redis: password === undefined ? redis : { ...redis, password: new Secret(password) }, postgresUrl };
}
