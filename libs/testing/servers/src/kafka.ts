/**
 * Subscriptions are tested against a real broker: one KRaft node on the machine's Java, its jars from Maven Central. It accepts plain
 * connections or, with credentials and certificates, only clients that have them.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ChildProgram } from "@perdure/processes";
import { freePorts } from "./free-port.js";
import { READY_MS_MAX, REQUEST_MS_MAX } from "./limits.js";
import { fetchedJars } from "./maven.js";
import { launchOnPort, launchServer, ServerProgram } from "./server-program.js";
import { type DataDirectory, dataDirectory } from "./temporary.js";

const run = promisify(execFile);

const VERSION = "4.1.0";
const JARS = [
  `org.apache.kafka:kafka_2.13:${VERSION}`,
  "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3",
  "org.apache.logging.log4j:log4j-core:2.24.3",
];
/** Enough for tests; the broker's own default would take a gigabyte. */
const HEAP = "-Xmx384m";

export interface KafkaOptions {
  /** Kept when given; else a temporary one that goes with the server. */
  readonly directory?: string;
  /** A free one when absent. */
  readonly port?: number;
  /** Credentials that every client must send. */
  readonly sasl?: {
    readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
    readonly username: string;
    readonly password: string;
  };
  /** PEM texts of the broker; connections are encrypted then. */
  readonly tls?: { readonly certificate: string; readonly privateKey: string };
  /** Settings of server.properties that add to ours or replace them. */
  readonly config?: Readonly<Record<string, string>>;
}

export class KafkaServer extends ServerProgram implements AsyncDisposable {
  readonly port: number;
  readonly directory: string;
  readonly #data: DataDirectory;

  private constructor(child: ChildProgram, port: number, data: DataDirectory) {
    super(child, () => accepts(port));
    this.port = port;
    this.#data = data;
    this.directory = data.path;
  }

  static async start(options: KafkaOptions): Promise<KafkaServer> {
    const data = await dataDirectory("kafka", options.directory);
    try {
      const { child, port } = await launchOnPort(options.port, /Address already in use/, async (chosen) => {
        const [controllerPort] = (await freePorts(1)) as [number];
        await prepare(data.path, chosen, controllerPort, options);
        return launch(data.path, chosen);
      });
      return new KafkaServer(child, port, data);
    } catch (cause) {
      await data.remove();
      throw cause;
    }
  }

  /** Value of `bootstrap.servers`. */
  get brokers(): string {
    return `127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill(); // Its data is not needed any more, or is in its log.
    await this.#data.remove();
  }
}

export function startKafka(options: KafkaOptions = {}): Promise<KafkaServer> {
  return KafkaServer.start(options);
}

/** Writes the settings and, in a new directory, the log's format. */
async function prepare(directory: string, port: number, controllerPort: number, options: KafkaOptions): Promise<void> {
  const file = join(directory, "server.properties");
  const lines = Object.entries({ ...settingsOf(directory, port, controllerPort, options), ...options.config });
  await writeFile(file, lines.map(([name, value]) => `${name}=${value.replaceAll("\n", "\\n")}\n`).join(""));
  if (existsSync(join(directory, "log", "meta.properties"))) return;
  const id = randomBytes(16).toString("base64url"); // One in 64 begins with a dash, so it is passed in one argument with its flag.
  const { sasl } = options;
  const user =
    sasl === undefined || sasl.mechanism === "PLAIN"
      ? []
      : ["--add-scram", `${sasl.mechanism}=[name=${sasl.username},password=${sasl.password}]`];
  const args = [
    HEAP,
    "-cp",
    await classPath(),
    "kafka.tools.StorageTool",
    "format",
    `--cluster-id=${id}`,
    "--config",
    file,
    ...user,
  ];
  await run("java", args, { timeout: READY_MS_MAX });
}

function settingsOf(
  directory: string,
  port: number,
  controllerPort: number,
  { sasl, tls }: KafkaOptions,
): Readonly<Record<string, string>> {
  const protocol = `${sasl === undefined ? "" : "SASL_"}${tls === undefined ? "PLAINTEXT" : "SSL"}`.replace(
    /^PLAIN$/,
    "PLAINTEXT",
  );
  return {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    listeners: `CLIENTS://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "advertised.listeners": `CLIENTS://127.0.0.1:${port}`,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "CLIENTS",
    "listener.security.protocol.map": `CLIENTS:${protocol},CONTROLLER:PLAINTEXT`,
    "log.dirs": join(directory, "log"),
    "num.partitions": "4",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    ...(tls === undefined
      ? {}
      : {
          "ssl.keystore.type": "PEM",
          "ssl.keystore.certificate.chain": tls.certificate,
          "ssl.keystore.key": tls.privateKey,
          "ssl.client.auth": "none",
          "ssl.endpoint.identification.algorithm": "",
          // The broker is a client of its own.
          "ssl.truststore.type": "PEM",
          "ssl.truststore.certificates": tls.certificate,
        }),
    ...(sasl === undefined ? {} : credentials(sasl)),
  };
}

function credentials({ mechanism, username, password }: NonNullable<KafkaOptions["sasl"]>): Readonly<Record<string, string>> {
  const login = mechanism === "PLAIN" ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
  const users = mechanism === "PLAIN" ? ` user_${username}="${password}"` : "";
  const jaas = `org.apache.kafka.common.security.${login} required username="${username}" password="${password}"${users};`;
  return {
    "sasl.enabled.mechanisms": mechanism,
    "sasl.mechanism.inter.broker.protocol": mechanism,
    [`listener.name.clients.${mechanism.toLowerCase()}.sasl.jaas.config`]: jaas,
  };
}

async function classPath(): Promise<string> {
  return join(await fetchedJars(`kafka-${VERSION}`, JARS), "*");
}

async function launch(directory: string, port: number): Promise<ChildProgram> {
  const jvm = [HEAP, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", await classPath()];
  const args = [...jvm, "kafka.Kafka", join(directory, "server.properties")];
  return launchServer({ command: "java", args, cwd: directory }, () => accepts(port));
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: REQUEST_MS_MAX });
    const answer = (isOpen: boolean) => () => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", answer(true)).once("error", answer(false)).once("timeout", answer(false));
  });
}
