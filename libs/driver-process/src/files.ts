/**
 * Why: what must outlive the process that looks after runtimes. Each environment has a folder that only this user may enter:
 *
 *   launch.json   how its runtime is started            process.json   who runs, and what it was started with
 *   signing.pem   key that signs requests to services   secret         what the gateway shows
 *   data/         everything of the runtime             runtime.log    what it says; runtime.log.old, what it said before
 *   tunnel-token  what it shows relays of tunnels
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EnvironmentId } from "@perdure/cloud";

const OWNER_ONLY_FOLDER = 0o700;
const OWNER_ONLY_FILE = 0o600;

export interface Launch {
  readonly generation: number;
  readonly heapMib: number;
  /** What the process may take in all; undefined of a launch that an older version wrote. */
  readonly memoryMib?: number;
  /** Arguments of the program. */
  readonly args: readonly string[];
  readonly ingressPort: number;
  readonly adminPort: number;
  /** Of all that needs a new process when it changes. */
  readonly fingerprint: string;
}

export interface ProcessRecord {
  readonly pid: number;
  /** As `identityOf` told it. */
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

  make(): void {
    makePrivateFolder(this.folder);
    makePrivateFolder(this.data);
  }

  get launch(): Launch | undefined {
    return readRecord(this.#launch) as Launch | undefined;
  }

  set launch(launch: Launch) {
    this.writePrivate(this.#launch, JSON.stringify(launch));
  }

  get process(): ProcessRecord | undefined {
    return readRecord(this.#process) as ProcessRecord | undefined;
  }

  set process(record: ProcessRecord | undefined) {
    if (record === undefined) rmSync(this.#process, { force: true });
    else this.writePrivate(this.#process, JSON.stringify(record));
  }

  /** Undefined when there is none. */
  readSecret(): string | undefined {
    return readText(this.secret);
  }

  /** Whole or not at all, and for this user's eyes alone. */
  writePrivate(path: string, text: string): void {
    const draft = `${path}.new`;
    rmSync(draft, { force: true }); // An older one would keep its mode.
    writeFileSync(draft, text, { mode: OWNER_ONLY_FILE });
    renameSync(draft, path);
  }

  /** Without a runtime nobody needs them. */
  forgetKeys(): void {
    rmSync(this.signingKey, { force: true });
    rmSync(this.tunnelToken, { force: true });
  }

  erase(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Also one that was there with other rights. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: OWNER_ONLY_FOLDER });
  chmodSync(path, OWNER_ONLY_FOLDER);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cause;
  }
}

/** We wrote it, whole or not at all. */
function readRecord(path: string): unknown {
  const text = readText(path);
  return text === undefined ? undefined : JSON.parse(text);
}
