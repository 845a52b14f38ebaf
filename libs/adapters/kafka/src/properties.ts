/**
 * Translates librdkafka properties, which clusters and subscriptions are configured with, into settings of kafkajs. Properties that would
 * silently weaken security are refused; unsupported ones are listed as ignored.
 */
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { jsonFields, PerdureError, parseJson, systemClock } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import type { ConsumerConfig, KafkaConfig, SASLOptions } from "kafkajs";
import { guardedSockets } from "./guarded-sockets.js";
import { CLIENT_RETRIES_MAX, FETCH_BYTES, FETCH_PARTITION_BYTES, SESSION_MS } from "./limits.js";
import { type AwsAccess, awsCredentials, mskIamOf, mskToken } from "./msk-iam.js";
import { postForm } from "./token-request.js";

/** Origin of the properties: with a guard they come from users who are not trusted. */
interface PropertiesContext {
  /** Admits connections; with a guard, properties must not name files. */
  readonly guard?: EgressGuard | undefined;
  readonly awsExternalId?: string | undefined;
}

interface ClientSettings {
  readonly kafka: KafkaConfig;
  readonly consumer: ConsumerConfig;
  readonly fromBeginning: boolean;
  /** Properties without an effect here. */
  readonly ignored: readonly string[];
}

/** Throws OPS0001 when a property is not valid. */
export function clientSettings(
  properties: Readonly<Record<string, string>>,
  { guard, awsExternalId }: PropertiesContext = {},
): ClientSettings {
  const read = new PropertyReader(properties, guard === undefined);
  const protocol = read.choice("security.protocol", ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"], "plaintext");
  const brokers = brokersOf(read.text("bootstrap.servers") ?? read.text("metadata.broker.list") ?? "");
  read.text("metadata.broker.list");
  const ssl = protocol.endsWith("ssl") ? tlsOf(read) : undefined;
  const sasl = protocol.startsWith("sasl") ? saslOf(read, protocol, { guard, awsExternalId }) : undefined;
  const kafka: KafkaConfig = {
    brokers,
    clientId: read.text("client.id") ?? "restate",
    connectionTimeout: read.whole("socket.connection.setup.timeout.ms", 10_000),
    requestTimeout: read.whole("socket.timeout.ms", 60_000),
    retry: { retries: CLIENT_RETRIES_MAX, initialRetryTime: read.whole("retry.backoff.ms", 100) },
    ...(guard === undefined ? {} : { socketFactory: guardedSockets(guard) }),
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl }),
  };
  const consumer: ConsumerConfig = {
    groupId: read.text("group.id") ?? "",
    sessionTimeout: read.whole("session.timeout.ms", SESSION_MS),
    heartbeatInterval: read.whole("heartbeat.interval.ms", 3_000),
    rebalanceTimeout: read.whole("max.poll.interval.ms", 300_000),
    metadataMaxAge: read.whole("topic.metadata.refresh.interval.ms", 300_000),
    maxBytesPerPartition: read.whole("max.partition.fetch.bytes", read.whole("fetch.message.max.bytes", FETCH_PARTITION_BYTES)),
    minBytes: read.whole("fetch.min.bytes", 1),
    maxBytes: read.whole("fetch.max.bytes", FETCH_BYTES),
    maxWaitTimeInMs: read.whole("fetch.wait.max.ms", 500),
    readUncommitted:
      read.choice("isolation.level", ["read_committed", "read_uncommitted"], "read_committed") === "read_uncommitted",
    rackId: read.text("client.rack") ?? "",
    // The owner of the consumer starts another one: a restart here would give two consumers that share the partitions.
    retry: { retries: CLIENT_RETRIES_MAX, restartOnFailure: async () => false },
  };
  const reset = read.choice("auto.offset.reset", ["earliest", "smallest", "beginning", "latest", "largest", "end"], "latest");
  return {
    kafka,
    consumer,
    fromBeginning: reset === "earliest" || reset === "smallest" || reset === "beginning",
    ignored: read.unread(),
  };
}

function brokersOf(list: string): string[] {
  const brokers = list
    .split(",")
    .map((broker) => broker.trim().replace(/^[a-z_]+:\/\//i, ""))
    .filter((broker) => broker !== "")
    .map((broker) => (/:\d+$/.test(broker) ? broker : `${broker}:9092`));
  if (brokers.length === 0) throw wrong("bootstrap.servers", list, "a list of host:port");
  return brokers;
}

function tlsOf(read: PropertyReader): ConnectionOptions {
  const identification = read.choice("ssl.endpoint.identification.algorithm", ["https", "none"], "https");
  const options: ConnectionOptions = {
    rejectUnauthorized: read.flag("enable.ssl.certificate.verification", true),
  };
  const ca = read.pem("ssl.ca.pem", "ssl.ca.location");
  const cert = read.pem("ssl.certificate.pem", "ssl.certificate.location");
  const key = read.pem("ssl.key.pem", "ssl.key.location");
  const passphrase = read.text("ssl.key.password");
  if (ca !== undefined) options.ca = ca;
  if (cert !== undefined) options.cert = cert;
  if (key !== undefined) options.key = key;
  if (passphrase !== undefined) options.passphrase = passphrase;
  if (identification === "none") options.checkServerIdentity = () => undefined;
  return options;
}

function saslOf(read: PropertyReader, protocol: string, { guard, awsExternalId }: PropertiesContext): SASLOptions {
  const mechanisms = ["plain", "scram-sha-256", "scram-sha-512", "oauthbearer", "aws_msk_iam"] as const;
  const mechanism = read.choice("sasl.mechanisms", mechanisms, read.choice("sasl.mechanism", mechanisms, "plain"));
  const config = read.text("sasl.oauthbearer.config");
  if (mechanism === "aws_msk_iam" || (mechanism === "oauthbearer" && config !== undefined)) {
    if (protocol !== "sasl_ssl") throw wrong("security.protocol", protocol, "sasl_ssl, which IAM tokens need");
    return mskOf(config ?? "", mechanism === "aws_msk_iam", { rolesOnly: guard !== undefined, externalId: awsExternalId });
  }
  if (mechanism === "oauthbearer") return oauthOf(read, guard);
  const username = read.text("sasl.username");
  const password = read.text("sasl.password");
  if (username === undefined || password === undefined) {
    throw new PerdureError("OPS0001", `SASL ${mechanism.toUpperCase()} needs 'sasl.username' and 'sasl.password'`);
  }
  return { mechanism, username, password };
}

/** Returns the SASL options of AWS_MSK_IAM, which brokers receive as OAUTHBEARER. */
function mskOf(config: string, isNamed: boolean, aws: AwsAccess): SASLOptions {
  const iam = mskIamOf(config, { isNamed, aws });
  return {
    mechanism: "oauthbearer",
    oauthBearerProvider: async () => ({ value: await mskToken(iam, await awsCredentials(iam, aws), systemClock) }),
  };
}

/** Client credentials (RFC 6749 §4.4), as librdkafka's `sasl.oauthbearer.method=oidc`. */
function oauthOf(read: PropertyReader, guard: EgressGuard | undefined): SASLOptions {
  read.choice("sasl.oauthbearer.method", ["oidc"], "oidc");
  const url = read.text("sasl.oauthbearer.token.endpoint.url");
  const id = read.text("sasl.oauthbearer.client.id");
  const secret = read.text("sasl.oauthbearer.client.secret");
  const scope = read.text("sasl.oauthbearer.scope");
  if (url === undefined || id === undefined || secret === undefined) {
    throw new PerdureError(
      "OPS0001",
      "SASL OAUTHBEARER needs 'sasl.oauthbearer.token.endpoint.url', 'sasl.oauthbearer.client.id' and 'sasl.oauthbearer.client.secret'",
    );
  }
  return {
    mechanism: "oauthbearer",
    async oauthBearerProvider() {
      const body = new URLSearchParams({ grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) });
      const authorization = `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;
      const answer = await postForm(url, body, authorization, guard);
      const token = answer.status === 200 ? jsonFields(parseJson(answer.text))?.["access_token"] : undefined;
      if (typeof token !== "string") throw new Error(`the token endpoint answered ${answer.status} without an access token`);
      return { value: token };
    },
  };
}

function wrong(name: string, value: string, expected: string): PerdureError {
  return new PerdureError("OPS0001", `the Kafka property '${name}' is '${value}', which is not ${expected}`);
}

/** Reads properties and lists those that were not read. */
class PropertyReader {
  readonly #properties: Readonly<Record<string, string>>;
  readonly #unread: Set<string>;
  readonly #mayReadFiles: boolean;

  constructor(properties: Readonly<Record<string, string>>, mayReadFiles: boolean) {
    this.#properties = properties;
    this.#mayReadFiles = mayReadFiles;
    // Fixed by the way offsets are stored here, for any value of these properties.
    this.#unread = new Set(
      Object.keys(properties).filter((name) => name !== "enable.auto.commit" && name !== "enable.auto.offset.store"),
    );
  }

  unread(): string[] {
    return [...this.#unread];
  }

  text(name: string): string | undefined {
    this.#unread.delete(name);
    const value = this.#properties[name];
    return value === undefined || value === "" ? undefined : value;
  }

  choice<T extends string>(name: string, choices: readonly T[], otherwise: T): T {
    const value = this.text(name);
    if (value === undefined) return otherwise;
    const match = choices.find((choice) => choice === value.toLowerCase());
    if (match === undefined) throw wrong(name, value, `one of ${choices.join(", ")}`);
    return match;
  }

  whole(name: string, otherwise: number): number {
    const value = this.text(name);
    if (value === undefined) return otherwise;
    if (!/^\d{1,12}$/.test(value)) throw wrong(name, value, "a whole number");
    return Number(value);
  }

  flag(name: string, otherwise: boolean): boolean {
    return this.choice(name, ["true", "false"], otherwise ? "true" : "false") === "true";
  }

  /** A PEM text, from the property itself or from a file. */
  pem(textName: string, fileName: string): string | undefined {
    const text = this.text(textName);
    const file = this.text(fileName);
    if (text !== undefined || file === undefined) return text?.replaceAll("\\n", "\n");
    if (!this.#mayReadFiles) {
      throw new PerdureError("OPS0001", `the Kafka property '${fileName}' cannot name a file here; use '${textName}'`);
    }
    try {
      return readFileSync(file, "utf8");
    } catch (cause) {
      throw new PerdureError("OPS0001", `the file '${file}' of the Kafka property '${fileName}' cannot be read`, { cause });
    }
  }
}
