/** Settings that only processes of a cluster have: addresses of other processes, and credentials. */
import { X509Certificate } from "node:crypto";
import { causeMessage, PerdureError, Secret } from "@perdure/base";
import type { PeerCredentials } from "@perdure/grpc";
import {
  bindPort,
  boolean,
  custom,
  duration,
  group,
  integer,
  loopbackAddress,
  optionalText,
  readSettingFile,
  tomlValue,
} from "@perdure/process-kit";
import type { RedisConnectionOptions, RedisNode } from "@perdure/redis";
import { z } from "zod";

/** A list in a file, or one line with commas in the environment and in flags. */
const addressList = z
  .union([z.array(z.string()), z.string().transform((line) => line.split(",").map((address) => address.trim()))])
  .pipe(z.array(z.string().regex(/^(\[[0-9A-Fa-f:]+\]|[^:\s[\]]+):\d{1,5}$/, "must be like host:port")).min(1));

const addresses = (sentence: string) =>
  custom(addressList.optional(), {
    sentence,
    form: "scalar",
    show: (list) => (list === undefined ? undefined : tomlValue(list)),
  });

/** A server address that may contain a password, which must not be printed. */
const serverUrl = (protocol: RegExp, like: string, sentence: string) =>
  custom(
    z
      .url({ protocol, error: `must be like ${like}` })
      .transform((url) => new Secret(url))
      .optional(),
    { sentence, form: "scalar", show: (url) => (url === undefined ? undefined : JSON.stringify(withoutPassword(url.reveal()))) },
  );

function withoutPassword(url: string): string {
  return url.replace(/^([^/]+:\/\/[^/@]*:)[^@]*@/, "$1***@");
}

/** Group `registry`. */
export const registryAddresses = group("Where the registries are.", {
  addresses: addresses(
    "Addresses of registries, host:port, separated by commas; the next one is used when one does not respond.",
  ),
});

/** Group `tenancy`. `about`: the connection, for users. */
export const tenancyAddresses = (about: string) =>
  group(about, {
    addresses: addresses("Addresses of tenancy, host:port, separated by commas; the next one is used when one does not respond."),
  });

/** Member `addresses` of the group `worker`. */
export const workerAddresses = addresses(
  "Addresses of some workers, host:port, separated by commas; they return the addresses of all others.",
);

export const environmentSetting = custom(
  z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be letters, digits, '_' and '-', at most 64")
    .prefault("env_local"),
  { sentence: "Which environment this process belongs to; several share a database and a Redis.", form: "scalar" },
);

export const metadataSettings = group("Where deployments, services, schedules and subscriptions are stored.", {
  postgresUrl: serverUrl(
    /^postgres(ql)?$/,
    "postgres://user:password@host:5432/database",
    "PostgreSQL, with the parameters that the client 'pg' supports (sslmode …).",
  ),
});

export const redisSettings = group("Where partitions are stored.", {
  url: serverUrl(
    /^rediss?$/,
    "redis://user:password@host:6379",
    "Redis 7; rediss:// encrypts. Of a Redis Cluster any of its nodes, and 'redis.cluster'.",
  ),
  caFile: optionalText({
    sentence: "PEM file with the authorities to trust for rediss://, instead of the system's; read for each new connection.",
  }),
  nodes: addresses("Further nodes of a Redis Cluster, host:port, separated by commas."),
  cluster: custom(z.union([z.boolean(), z.enum(["true", "false"]).transform((text) => text === "true")]).prefault(false), {
    sentence: "Whether the nodes are a Redis Cluster.",
    form: "scalar",
    show: String,
  }),
  keyPrefix: optionalText({ sentence: "In front of every key, where others use the same Redis; at most 64 characters." }),
  replicas: integer(0, {
    sentence: "Replicas that must have a commit before it counts; only as good as min-replicas-to-write of the server.",
    min: 0,
    max: 16,
  }),
});

export const grpcSettings = group("The gRPC listener for other processes of the cluster.", {
  bindAddress: loopbackAddress(),
  bindPort: bindPort(9090),
  allowCleartext: boolean(false, {
    sentence:
      "Whether other machines may reach it without 'tls.*' files: for networks where policies admit only processes of the cluster. Without that the process does not start.",
  }),
});

export const probeSettings = group("The HTTP listener for orchestrators: /livez, /readyz, /metrics.", {
  bindAddress: loopbackAddress(),
  bindPort: bindPort(9091),
});

export const tlsSettings = group(
  "Mutual TLS between the processes of the cluster: all three files. Or a token that they share.",
  {
    authorityFile: optionalText({
      sentence: "PEM file with the certificates of the authority that signs those of all processes.",
    }),
    certificateFile: optionalText({ sentence: "PEM file with this process's certificate." }),
    privateKeyFile: optionalText({ sentence: "PEM file with this process's private key." }),
    checkInterval: duration("10s", { sentence: "How often the three files are read for new ones (duration).", minMs: 100 }),
    tokenFile: optionalText({
      sentence:
        "File with a token of at least 32 characters that all processes present to each other instead. It does not encrypt: for networks without eavesdroppers only.",
    }),
  },
);

/** Undefined: no authentication. Throws OPS0001 when only some of the files are named, or one cannot be read or used. */
export function peerCredentialsOf(settings: z.output<typeof tlsSettings>): PeerCredentials | undefined {
  const { authorityFile, certificateFile, privateKeyFile, tokenFile } = settings;
  if (authorityFile === undefined && certificateFile === undefined && privateKeyFile === undefined)
    return tokenFile === undefined ? undefined : { token: tokenIn(tokenFile) };
  if (tokenFile !== undefined)
    throw new PerdureError("OPS0001", "'tls.token-file' is for processes without the other files of 'tls'");
  const read = (name: string, path: string | undefined): string => readSettingFile(name, required(name, path));
  return {
    authority: read("tls.authority-file", authorityFile),
    certificate: read("tls.certificate-file", certificateFile),
    privateKey: read("tls.private-key-file", privateKeyFile),
  };
}

function tokenIn(path: string): Secret {
  const token = readSettingFile("tls.token-file", path).trim();
  if (/^[\x21-\x7e]{32,1024}$/.test(token)) return new Secret(token);
  throw new PerdureError("OPS0001", "'tls.token-file': the token must be 32 to 1024 visible ASCII characters without blanks");
}

/** A setting that has no default and that this process cannot do without. Throws OPS0001 naming it. */
export function required<T>(name: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new PerdureError("OPS0001", `'${name}' must be set`);
}

/** Throws OPS0001 when the address of Redis is not set. `name`: name of this client in Redis's list of clients. */
export function redisOptionsOf(
  { url, caFile, nodes, cluster, replicas, keyPrefix }: z.output<typeof redisSettings>,
  name: string,
): RedisConnectionOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(required("redis.url", url).reveal());
  const first: RedisNode = { host: hostname, port: port === "" ? 6379 : Number(port) };
  const further = (nodes ?? []).map((address): RedisNode => {
    const colon = address.lastIndexOf(":");
    return { host: address.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(address.slice(colon + 1)) };
  });
  const database = pathname.slice(1);
  if (!/^\d*$/.test(database)) throw new PerdureError("OPS0001", "'redis.url' must end in the number of a database, or nothing");
  if (caFile !== undefined) checkAuthorities(caFile, protocol);
  return {
    nodes: [first, ...further],
    cluster,
    replicas,
    name,
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: new Secret(decodeURIComponent(password)) }),
    ...(database === "" ? {} : { database: Number(database) }),
    ...(protocol === "rediss:" ? { tls: {} } : {}),
    ...(caFile === undefined ? {} : { caFile }),
  };
}

/**
 * Throws OPS0001 when the file has no usable certificate. It is checked at the start alone, because later it may be invalid for a moment.
 */
function checkAuthorities(file: string, protocol: string): void {
  if (protocol !== "rediss:")
    throw new PerdureError("OPS0001", "'redis.ca-file' is for a 'redis.url' that begins with rediss://");
  try {
    new X509Certificate(readSettingFile("redis.ca-file", file));
  } catch (cause) {
    if (cause instanceof PerdureError) throw cause;
    throw new PerdureError("OPS0001", `'redis.ca-file' has no certificate: ${causeMessage(cause)}`, { cause });
  }
}
