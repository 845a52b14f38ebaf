/**
 * Location of the data as text: the process that runs statements opens Redis and the archive itself, and receives its parameters as text.
 */
import { PerdureError, parseJson, Secret } from "@perdure/base";
import type { RedisConnectionOptions } from "@perdure/redis";
import { z } from "zod";

interface DataLocation {
  readonly environment: string;
  readonly redis: RedisConnectionOptions;
  readonly postgresUrl: string;
}

const Node = z.object({ host: z.string(), port: z.number() });

/** The options of Redis that JSON can carry, without the password. */
const Redis = z.strictObject({
  nodes: z.tuple([Node], Node),
  cluster: z.boolean().exactOptional(),
  username: z.string().exactOptional(),
  database: z.number().exactOptional(),
  /** Empty: the settings of a service only say whether to encrypt. */
  tls: z.strictObject({}).exactOptional(),
  caFile: z.string().exactOptional(),
  replicas: z.number().exactOptional(),
  timeoutMs: z.number().exactOptional(),
  keyPrefix: z.string().exactOptional(),
  name: z.string().exactOptional(),
});

const Where = z.object({
  environment: z.string(),
  redis: Redis,
  password: z.string().optional(),
  postgresUrl: z.string(),
});

/** Contains passwords: for the process alone, never for a log. */
export function whereText({ environment, redis: { password, ...rest }, postgresUrl }: DataLocation): string {
  return JSON.stringify({ environment, redis: rest, password: password?.reveal(), postgresUrl });
}

/** Throws OPS0003 when the text does not have this form; the error does not contain the text. */
export function whereOf(text: string): DataLocation {
  const parsed = Where.safeParse(parseJson(text));
  if (!parsed.success)
    throw new PerdureError("OPS0003", "the process for SQL received no valid location of Redis and the archive");
  const { environment, redis, password, postgresUrl } = parsed.data;
  return { environment, redis: password === undefined ? redis : { ...redis, password: new Secret(password) }, postgresUrl };
}
