/**
 * Reads settings from a TOML file, the environment and flags. Each source becomes a list of `Given`: one value, its place in the schema,
 * and its origin for messages. A value without a place in the schema becomes a `Problem` with the nearest setting.
 */
import { readFileSync, statSync } from "node:fs";
import { causeCode, causeMessage, PerdureError } from "@perdure/base";
import { parse as parseToml, TomlError } from "smol-toml";
import { CONFIG_FILE_BYTES_MAX } from "./limits.js";
import { dottedName, foldName, kebabName, nearestName } from "./names.js";
import type { SettingFacts } from "./setting.js";
import { type SettingNode, settingsOf } from "./tree.js";

export interface GivenSetting {
  /** Path in the schema, in the schema's own spelling. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** For messages: `PERDURE_BASE_DIR`, `--base-dir`, `perdure.toml: base-dir`. */
  readonly origin: string;
}

/** A sentence for the user, with the origin. `code` is the kind of mistake. */
export interface SettingProblem {
  readonly code: "RT0002" | "OPS0002";
  readonly message: string;
}

export interface SourceResult {
  readonly given: GivenSetting[];
  readonly problems: SettingProblem[];
}

/** Another name of a setting or table: both as dotted names. */
export interface Alias {
  readonly alias: string;
  readonly name: string;
}

/** The names that sources are matched against. */
export interface SettingNames {
  readonly root: SettingNode;
  readonly aliases: readonly Alias[];
}

// ── files ────────────────────────────────────────────────────────────────────────────────────────

/** Reads a TOML file. Throws RT0002 when it cannot be read or is not TOML. */
export function readFileSource(path: string, names: SettingNames): SourceResult {
  return tableSource(parseFile(path), path, names);
}

function parseFile(path: string): Record<string, unknown> {
  const source = readText(path);
  try {
    return parseToml(source);
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const [reason] = cause.message.split("\n");
    const place = `line ${cause.line}, column ${cause.column}`;
    throw new PerdureError("RT0002", `the configuration file ${path} is not TOML, ${place}: ${reason}`, { cause });
  }
}

function readText(path: string): string {
  let bytes: number;
  try {
    bytes = statSync(path).size;
    if (bytes <= CONFIG_FILE_BYTES_MAX) return readFileSync(path, "utf8");
  } catch (cause) {
    const reason = causeCode(cause) === "ENOENT" ? "there is no such file" : causeMessage(cause);
    throw new PerdureError("RT0002", `the configuration file ${path} cannot be read: ${reason}`, { cause });
  }
  const limit = `more than a settings file may have (${CONFIG_FILE_BYTES_MAX})`;
  throw new PerdureError("RT0002", `the configuration file ${path} cannot be read: it has ${bytes} bytes, ${limit}`);
}

/** A parsed TOML document; `file` only names the origin. */
function tableSource(table: Record<string, unknown>, file: string, names: SettingNames): SourceResult {
  const out: SourceResult = { given: [], problems: [] };
  walkTable(table, [], file, names, out);
  return finish(out);
}

function walkTable(
  table: Record<string, unknown>,
  written: readonly string[],
  file: string,
  names: SettingNames,
  out: SourceResult,
): void {
  for (const [key, value] of Object.entries(table)) {
    const path = [...written, key];
    const node = find(path, names);
    const origin = `${file}: ${path.join(".")}`;
    if (node === undefined) {
      out.problems.push(unknown(`${file}: there is no setting '${path.join(".")}'`, nearest(path.join("."), names)));
    } else if (node.kind === "setting") {
      out.given.push({ path: node.path, value, origin });
    } else if (isTable(value)) {
      walkTable(value, path, file, names, out);
    } else {
      out.problems.push({ code: "RT0002", message: `${origin} is a table of settings, not a value` });
    }
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

// ── environment ──────────────────────────────────────────────────────────────────────────────────

const ENVIRONMENT_PREFIX = "PERDURE_";
const RESTATE_PREFIX = "RESTATE_";

/**
 * Kubernetes sets these for each Service of the namespace, also for Services named `perdure`. A name that merely ends in `_PORT` may be
 * a misspelt setting (`PERDURE_INGRESS_BIND_PORT`), so it counts as a service link only with the value that Kubernetes writes.
 */
const SERVICE_LINK = /^(.*_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR))$/;
const SERVICE_LINK_URL = /^(.*_)?PORT(_\d+_(TCP|UDP|SCTP))?$/;
const SERVICE_LINK_VALUE = /^(tcp|udp|sctp):\/\//;

function isServiceLink(name: string, value: string): boolean {
  if (name.includes("__")) return false;
  return SERVICE_LINK.test(name) || (SERVICE_LINK_URL.test(name) && SERVICE_LINK_VALUE.test(value));
}

/** `PERDURE_` variables. `reserved` are the names (without prefix) that other programs or the launcher read. */
export function environmentSource(
  environment: Readonly<Record<string, string | undefined>>,
  reserved: ReadonlySet<string>,
  names: SettingNames,
): SourceResult {
  const out: SourceResult = { given: [], problems: [] };
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || !variable.toUpperCase().startsWith(ENVIRONMENT_PREFIX)) continue;
    const rest = variable.slice(ENVIRONMENT_PREFIX.length);
    if (reserved.has(rest.toUpperCase()) || isServiceLink(rest.toUpperCase(), text)) continue;
    const node = find(rest.split("__"), names);
    if (node?.kind === "setting") {
      out.given.push({ path: node.path, value: fromText(text, node.facts.form), origin: variable });
    } else if (node !== undefined) {
      out.problems.push({ code: "RT0002", message: `${variable} names a table of settings, not one setting` });
    } else {
      const suggestion = nearest(rest.split("__").join("."), names);
      out.problems.push(
        unknown(`there is no setting for the environment variable ${variable}`, suggestion && variableOf(suggestion)),
      );
    }
  }
  return finish(out);
}

/** Variables that the CLI, the SDKs and the tunnel client of Restate read; a server has no setting for them. */
const RESTATE_CLIENT_VARIABLE =
  /^(HOST|HOST_SCHEME|INGRESS_URL|ADMIN_URL|AUTH_TOKEN|ENVIRONMENT|LOGGING|IDENTITY_KEY|API_KEY|CLI_\w+|CLOUD_\w+|TUNNEL_\w+)$/;

interface RestateSource extends SourceResult {
  /** Names of variables that have the prefix of server settings but match none, sorted. */
  readonly ignored: readonly string[];
}

/** A `RestateSource` that is being filled. */
interface MutableRestateSource {
  readonly given: GivenSetting[];
  readonly problems: SettingProblem[];
  readonly ignored: string[];
}

/**
 * `RESTATE_` variables of the reference server, so that existing set-ups and its testcontainers library work. A variable without a
 * setting here is not a mistake, because the reference has settings that mean nothing here: it is listed in `ignored`.
 */
export function restateSource(environment: Readonly<Record<string, string | undefined>>, names: SettingNames): RestateSource {
  const out: MutableRestateSource = { given: [], problems: [], ignored: [] };
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || !variable.toUpperCase().startsWith(RESTATE_PREFIX)) continue;
    const rest = variable.slice(RESTATE_PREFIX.length);
    if (isServiceLink(rest.toUpperCase(), text) || RESTATE_CLIENT_VARIABLE.test(rest.toUpperCase())) continue;
    const node = find(rest.split("__"), names);
    if (node?.kind === "setting") out.given.push(...restateValues(node, text, variable, names));
    else out.ignored.push(variable);
  }
  out.ignored.sort();
  finish(out);
  return out;
}

/** The reference's `bind-address` is `ip:port`; here the port is a setting of its own. */
function restateValues(
  node: SettingNode & { kind: "setting" },
  text: string,
  origin: string,
  names: SettingNames,
): GivenSetting[] {
  const parts = foldName(node.path.at(-1)!) === foldName("bindAddress") ? /^(.+):(\d+)$/.exec(text) : null;
  const port = parts === null ? undefined : find([...node.path.slice(0, -1), "bindPort"], names);
  if (parts === null || port?.kind !== "setting") return [{ path: node.path, value: fromText(text, node.facts.form), origin }];
  return [
    { path: node.path, value: parts[1]!.replace(/^\[(.+)\]$/, "$1"), origin },
    { path: port.path, value: parts[2]!, origin },
  ];
}

/** `worker.cleanup-interval` → `PERDURE_WORKER__CLEANUP_INTERVAL`. */
export function variableOf(dotted: string): string {
  return ENVIRONMENT_PREFIX + dotted.replaceAll(".", "__").replaceAll("-", "_").toUpperCase();
}

// ── flags ────────────────────────────────────────────────────────────────────────────────────────

/** `--name value`, `--name=value`, and `--name` alone for true. Dotted names reach nested settings. */
export function flagSource(args: readonly string[], names: SettingNames): SourceResult {
  const out: SourceResult = { given: [], problems: [] };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (!arg.startsWith("--")) {
      out.problems.push({ code: "RT0002", message: `'${arg}' is not a flag; flags begin with two dashes` });
      continue;
    }
    const equals = arg.indexOf("=");
    const flag = equals < 0 ? arg : arg.slice(0, equals);
    const node = find(flag.slice(2).split("."), names);
    if (node?.kind !== "setting") {
      const suggestion = nearest(flag.slice(2), names);
      out.problems.push(unknown(`there is no flag ${flag}`, suggestion && `--${suggestion}`));
      if (equals < 0 && isValue(args[i + 1])) i++;
    } else if (equals >= 0) {
      out.given.push({ path: node.path, value: fromText(arg.slice(equals + 1), node.facts.form), origin: flag });
    } else if (node.facts.form === "boolean" && args[i + 1] !== "true" && args[i + 1] !== "false") {
      out.given.push({ path: node.path, value: true, origin: flag });
    } else if (isValue(args[i + 1])) {
      out.given.push({ path: node.path, value: fromText(args[++i]!, node.facts.form), origin: flag });
    } else {
      out.problems.push({ code: "RT0002", message: `${flag} needs a value` });
    }
  }
  return finish(out);
}

function isValue(arg: string | undefined): arg is string {
  return arg !== undefined && !arg.startsWith("--");
}

// ── shared ───────────────────────────────────────────────────────────────────────────────────────

/** One line of text as a value; structures are written as JSON or TOML. */
function fromText(text: string, form: SettingFacts["form"]): unknown {
  if (form !== "structure") return text;
  try {
    return JSON.parse(text);
  } catch {
    return fromTomlText(text);
  }
}

/** Text that is neither JSON nor TOML stays text, and the setting's own schema then reports the expected form. */
function fromTomlText(text: string): unknown {
  try {
    return parseToml(`value = ${text}`)["value"];
  } catch (cause) {
    if (cause instanceof TomlError) return text;
    throw cause;
  }
}

function find(written: readonly string[], names: SettingNames): SettingNode | undefined {
  return descend(throughAliases(written, names.aliases), names.root);
}

function throughAliases(written: readonly string[], aliases: readonly Alias[]): readonly string[] {
  for (const { alias, name } of aliases) {
    const parts = alias.split(".");
    if (parts.length <= written.length && parts.every((part, i) => foldName(part) === foldName(written[i]!))) {
      return [...name.split("."), ...written.slice(parts.length)];
    }
  }
  return written;
}

function descend(path: readonly string[], root: SettingNode): SettingNode | undefined {
  let node: SettingNode | undefined = root;
  for (const part of path) {
    if (node?.kind !== "group") return undefined;
    node = memberOf(node.members, part);
  }
  return node;
}

function memberOf(members: ReadonlyMap<string, SettingNode>, written: string): SettingNode | undefined {
  const folded = foldName(written);
  for (const [name, member] of members) {
    if (foldName(name) === folded) return member;
  }
  return undefined;
}

function nearest(written: string, names: SettingNames): string | undefined {
  return nearestName(
    written,
    [...settingsOf(names.root)].map((setting) => dottedName(setting.path)).concat(tableNames(names.root)),
  );
}

function tableNames(node: SettingNode): string[] {
  if (node.kind === "setting") return [];
  const own = node.path.length === 0 ? [] : [node.path.map(kebabName).join(".")];
  return own.concat([...node.members.values()].flatMap(tableNames));
}

function unknown(message: string, suggestion: string | undefined): SettingProblem {
  return { code: "RT0002", message: suggestion === undefined ? message : `${message}; did you mean '${suggestion}'?` };
}

/** Rejects two spellings of one setting within one source, unless their values agree: which one was meant is undecidable. */
function finish(source: SourceResult): SourceResult {
  const first = new Map<string, GivenSetting>();
  for (const given of source.given) {
    const name = dottedName(given.path);
    const other = first.get(name);
    if (other === undefined) first.set(name, given);
    else if (other.origin !== given.origin && JSON.stringify(other.value) !== JSON.stringify(given.value)) {
      const message = `${other.origin} and ${given.origin} both set '${name}', to different values`;
      source.problems.push({ code: "OPS0002", message });
    }
  }
  return source;
}
