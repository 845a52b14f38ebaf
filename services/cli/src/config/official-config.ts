/**
 * The configuration file of the official command line, whose profiles we share: it has the names of environments, and the file
 * `environment` beside it names the one in use (cloud.md §1.1). It is read with the same rules, and only our own tables are changed.
 */
import type { Clock } from "@perdure/base";
import { FAILED, fail } from "../errors.js";
import { CONFIG_BYTES_MAX } from "../limits.js";
import { readText, writeTextAtomically } from "./atomic-file.js";
import { withLock } from "./file-lock.js";
import type { OfficialPaths } from "./paths.js";
import { editToml, parseToml, type TomlEdit, type TomlTable, tableAt } from "./toml-text.js";

/** Default API of the official command line. */
export const OFFICIAL_API = "https://api.us.restate.cloud";

export interface Profile {
  readonly name: string;
  readonly isCloud: boolean;
  readonly ingressUrl: string | undefined;
  readonly adminUrl: string | undefined;
  readonly bearerToken: string | undefined;
  readonly accountId: string | undefined;
  readonly environmentId: string | undefined;
}

/** `[global.cloud]`: the only login that the official command line has. */
interface GlobalCloud {
  readonly apiBaseUrl: string | undefined;
  readonly accessToken: string | undefined;
  readonly clientId: string | undefined;
}

export class OfficialConfig {
  readonly paths: OfficialPaths;
  readonly #clock: Clock;

  constructor(paths: OfficialPaths, clock: Clock) {
    this.paths = paths;
    this.#clock = clock;
  }

  /** Names in the order of the file; `global` is not a profile. */
  profiles(): readonly Profile[] {
    const root = this.#read();
    const names = Object.keys(root).filter((name) => name !== "global" && tableAt(root, [name]) !== undefined);
    return names.map((name) => profileOf(root, name));
  }

  profile(name: string): Profile | undefined {
    const root = this.#read();
    return name === "global" || tableAt(root, [name]) === undefined ? undefined : profileOf(root, name);
  }

  /** Undefined without a login. */
  globalCloud(): GlobalCloud | undefined {
    const cloud = tableAt(this.#read(), ["global", "cloud"]);
    if (cloud === undefined) return undefined;
    return {
      apiBaseUrl: stringOf(cloud, "api_base_url"),
      accessToken: stringOf(cloud, "access_token"),
      clientId: stringOf(cloud, "client_id"),
    };
  }

  /** The name in the file `environment`; undefined when it has none. */
  activeName(): string | undefined {
    return readText(this.paths.environment, CONFIG_BYTES_MAX)?.trim() || undefined;
  }

  async use(name: string): Promise<void> {
    await this.#locked(async () => writeTextAtomically(this.paths.environment, name));
  }

  /** Changes strings of tables; `edits` receives the present content under the lock. */
  async edit(edits: (current: OfficialConfig) => readonly TomlEdit[]): Promise<void> {
    await this.#locked(async () => {
      const text = this.#text();
      let edited: string;
      try {
        edited = editToml(text, edits(this));
      } catch (cause) {
        fail(
          FAILED,
          `${this.paths.config} cannot be edited: ${messageOf(cause)}`,
          "Correct the file by hand, then try again.",
          cause,
        );
      }
      if (edited !== text) writeTextAtomically(this.paths.config, edited);
    });
  }

  #locked(work: () => Promise<void>): Promise<void> {
    return withLock(`${this.paths.config}.perdure-lock`, this.#clock, work);
  }

  #text(): string {
    return readText(this.paths.config, CONFIG_BYTES_MAX) ?? "";
  }

  #read(): TomlTable {
    const text = this.#text();
    try {
      return parseToml(text);
    } catch (cause) {
      return fail(
        FAILED,
        `${this.paths.config} is not TOML: ${messageOf(cause)}`,
        "Correct the file by hand, then try again.",
        cause,
      );
    }
  }
}

/** `[global]` overrides every profile, as in the official command line. */
function profileOf(root: TomlTable, name: string): Profile {
  const global = tableAt(root, ["global"]) ?? {};
  const own = tableAt(root, [name]) ?? {};
  const cloud = tableAt(own, ["cloud"]) ?? {};
  const either = (key: string): string | undefined => stringOf(global, key) ?? stringOf(own, key);
  return {
    name,
    isCloud: stringOf(own, "environment_type") === "cloud",
    ingressUrl: either("ingress_base_url"),
    adminUrl: either("admin_base_url"),
    bearerToken: either("bearer_token"),
    accountId: stringOf(cloud, "account_id"),
    environmentId: stringOf(cloud, "environment_id"),
  };
}

function stringOf(table: TomlTable, key: string): string | undefined {
  const value = table[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
