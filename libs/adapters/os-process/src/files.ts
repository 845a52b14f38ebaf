/**
 * The files of an environment that outlive the process that manages runtimes. Each environment has a folder that only this user may enter
 * and, when the runtime has a user of its own, that user may pass through. Such a runtime owns `data` and the files that it reads, never
 * the folder, so it cannot replace files that this process writes and opens again.
 *
 *   launch.json   how its runtime is started            process.json   the process that runs, and how it was started
 *   signing.pem   key that signs requests to services   secret         secret that the gateway sends
 *   data/         everything of the runtime             runtime.log    its output; runtime.log.old, earlier output
 *   tunnel-token  token that it sends to tunnel relays
 */
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { causeCode, jsonFields, parseJson } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";

const OWNER_ONLY_FOLDER = 0o700;
const OWNER_ONLY_FILE = 0o600;
/** The group is the runtime's alone. */
const OWNER_AND_PASSING_GROUP = 0o710;
const PASSING_ALL = 0o711;

export interface RuntimeLaunch {
  readonly generation: number;
  readonly heapMib: number;
  /** Memory limit of the process, in MiB; undefined for a launch that an older version wrote. */
  readonly memoryMib?: number;
  /** The user and group that the process runs as; undefined: those of the platform. */
  readonly uid?: number | undefined;
  /** Arguments of the program. */
  readonly args: readonly string[];
  readonly ingressPort: number;
  readonly adminPort: number;
  /** Digest of all settings that need a new process when they change. */
  readonly fingerprint: string;
}

export interface ProcessRecord {
  readonly pid: number;
  /** The value that `identityOf` returned. */
  readonly identity: string;
  readonly fingerprint: string;
}

export class EnvironmentFiles {
  readonly folder: string;
  readonly data: string;
  readonly signingKey: string;
  readonly secret: string;
  readonly tunnelToken: string;
  readonly log: string;
  readonly oldLog: string;
  readonly #launch: string;
  readonly #process: string;

  constructor(root: string, id: EnvironmentId) {
    this.folder = join(root, id);
    this.data = join(this.folder, "data");
    this.signingKey = join(this.folder, "signing.pem");
    this.secret = join(this.folder, "secret");
    this.tunnelToken = join(this.folder, "tunnel-token");
    this.log = join(this.folder, "runtime.log");
    this.oldLog = join(this.folder, "runtime.log.old");
    this.#launch = join(this.folder, "launch.json");
    this.#process = join(this.folder, "process.json");
  }

  /** `uid`: of the runtime, which passes through the folder. */
  make(uid?: number): void {
    makePrivateFolder(this.folder);
    makePrivateFolder(this.data);
    if (uid === undefined) return;
    chownSync(this.folder, userOfOurs(), uid);
    chmodSync(this.folder, OWNER_AND_PASSING_GROUP);
  }

  /** Gives the data to that user, also files of an earlier user. No process of the runtime may run. */
  handOverData(uid: number): void {
    if (lstatSync(this.data).uid !== uid) handOver(this.data, uid);
  }

  get launch(): RuntimeLaunch | undefined {
    return readRecord(this.#launch, launchOf);
  }

  set launch(launch: RuntimeLaunch) {
    this.writePrivate(this.#launch, JSON.stringify(launch));
  }

  get process(): ProcessRecord | undefined {
    return readRecord(this.#process, processOf);
  }

  set process(record: ProcessRecord | undefined) {
    if (record === undefined) rmSync(this.#process, { force: true });
    else this.writePrivate(this.#process, JSON.stringify(record));
  }

  /** Undefined when there is none. */
  readSecret(): string | undefined {
    return readText(this.secret);
  }

  /** Written atomically, readable by this user only, or by the user `uid`. */
  writePrivate(path: string, text: string, uid?: number): void {
    const draft = `${path}.new`;
    rmSync(draft, { force: true }); // An older one would keep its mode.
    writeFileSync(draft, text, { mode: OWNER_ONLY_FILE });
    if (uid !== undefined) chownSync(draft, uid, uid);
    renameSync(draft, path);
  }

  /** Call it when the runtime is gone: no other process uses these keys. */
  deleteKeys(): void {
    rmSync(this.signingKey, { force: true });
    rmSync(this.tunnelToken, { force: true });
  }

  erase(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Also when the folder existed with other rights. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: OWNER_ONLY_FOLDER });
  chmodSync(path, OWNER_ONLY_FOLDER);
}

/** Other users may pass through to their folders below, but cannot list it. */
export function letPass(path: string): void {
  chmodSync(path, PASSING_ALL);
}

/** Gives a whole tree to the user, without following links. The top directory comes last: its owner shows that everything below is done. */
function handOver(path: string, uid: number): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name);
    if (entry.isDirectory()) handOver(below, uid);
    else lchownSync(below, uid, uid);
  }
  lchownSync(path, uid, uid);
}

function userOfOurs(): number {
  return process.geteuid?.() ?? 0;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (causeCode(cause) === "ENOENT") return undefined;
    throw cause;
  }
}

/** Undefined when there is no file. Throws when the file is not such a record: this process writes it whole or not at all. */
function readRecord<T>(path: string, parse: (value: unknown) => T | undefined): T | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  const record = parse(parseJson(text));
  if (record === undefined) throw new Error(`${path} does not contain the record that this version writes`);
  return record;
}

function launchOf(value: unknown): RuntimeLaunch | undefined {
  const { generation, heapMib, memoryMib, uid, args, ingressPort, adminPort, fingerprint } = jsonFields(value) ?? {};
  const isComplete = isNumber(generation) && isNumber(heapMib) && isNumber(ingressPort) && isNumber(adminPort);
  if (!isComplete || typeof fingerprint !== "string" || !isTexts(args)) return undefined;
  if ((memoryMib !== undefined && !isNumber(memoryMib)) || (uid !== undefined && !isNumber(uid))) return undefined;
  const launch = { generation, heapMib, uid, args, ingressPort, adminPort, fingerprint };
  return memoryMib === undefined ? launch : { ...launch, memoryMib };
}

function processOf(value: unknown): ProcessRecord | undefined {
  const { pid, identity, fingerprint } = jsonFields(value) ?? {};
  if (!isNumber(pid) || typeof identity !== "string" || typeof fingerprint !== "string") return undefined;
  return { pid, identity, fingerprint };
}

const isNumber = (value: unknown): value is number => typeof value === "number";
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");
