/** `perdure state`: shows and edits the state of an object or workflow; never overwrites another change unnoticed. */

import { type AdminClient, type KeyState, type StateMap, stateVersion } from "@perdure/admin-client";
import { present } from "@perdure/base";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { showBytes } from "../../output/index.js";
import { pause } from "../../pause.js";
import { action, adminOf } from "./connect.js";
import { editJson } from "./editor.js";
import { LIST_ROWS_DEFAULT, LIST_ROWS_MAX, STATE_APPLIED_MS, STATE_PAUSE_MS } from "./limits.js";
import { noteUndo } from "./operations.js";
import { requireService } from "./require-service.js";
import { expiryOf, registerStateTtl } from "./state-ttl.js";
import { bytesJson, bytesText, jsonOf } from "./texts.js";
import { bodyOf, wholeNumber } from "./values.js";

interface ChangeFlags {
  readonly force?: boolean;
  readonly expect?: string;
}

export function registerState(program: Command, context: Context): void {
  const state = program.command("state").helpGroup("Services and invocations:").description("the state of objects and workflows");
  state
    .command("list")
    .alias("ls")
    .argument("<service>")
    .description("list keys that have state")
    .option("-n, --limit <rows>", "maximum number of rows", wholeNumber(1, LIST_ROWS_MAX))
    .action(action((service: string, { limit }: { limit?: number }) => list(context, service, limit ?? LIST_ROWS_DEFAULT)));
  state
    .command("get")
    .argument("<service>")
    .argument("<key>")
    .argument("[name]", "one entry only; printed as it is")
    .description("print the state of one key")
    .action(action((service: string, key: string, name: string | undefined) => get(context, service, key, name)));
  const set = state
    .command("set")
    .argument("<service>")
    .argument("<key>")
    .argument("<name>", "of the entry")
    .argument("[value]", "JSON, or with --raw any text; - reads it from stdin")
    .description("set one entry; others are unchanged")
    .option("-f, --file <path>", "the content of this file is the value")
    .option("--raw", "take the value as it is, JSON or not");
  set.action(
    action((service: string, key: string, name: string, value: string | undefined, flags: StateSetFlags) =>
      setOne(context, { service, key, name }, value, flags),
    ),
  );
  const edit = state
    .command("edit")
    .argument("<service>")
    .argument("<key>")
    .description("change the whole state of one key in your editor");
  edit.action(action((service: string, key: string, flags: ChangeFlags) => editAll(context, service, key, flags)));
  const clear = state
    .command("clear")
    .argument("<service>")
    .argument("<key>")
    .argument("[names...]", "these entries only")
    .description("remove the state of one key, or some entries of it");
  clear.action(
    action((service: string, key: string, names: readonly string[], flags: ChangeFlags) =>
      clearSome(context, { service, key }, names, flags),
    ),
  );
  registerStateTtl(state, context);
  for (const command of [set, edit, clear]) {
    command
      .option("--force", "also when the state was changed meanwhile")
      .option("--expect <version>", "only if the state has this version, as `state get --json` shows it");
  }
}

async function list(context: Context, service: string, limit: number): Promise<void> {
  const admin = adminOf(context);
  const keys = await admin.state.keys(service, limit, context);
  if (keys.length === 0) await requireService(context, admin, service, ["VirtualObject", "Workflow"], "state");
  const { output } = context;
  output.result({ service, keys }, () =>
    output.table(
      [
        { title: "KEY", show: ({ key }) => key },
        { title: "ENTRIES", align: "right", show: ({ entries }) => String(entries) },
        { title: "SIZE", align: "right", show: ({ bytes }) => showBytes(bytes) },
      ],
      keys,
      `No key of ${service} has state.`,
    ),
  );
}

const asJson = (entries: StateMap): Record<string, unknown> =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, bytes]) => [name, bytesJson(bytes)]));

async function get(context: Context, service: string, key: string, name: string | undefined): Promise<void> {
  const admin = adminOf(context);
  const { entries, version } = await admin.state.read(service, key, context);
  if (entries.size === 0) await requireService(context, admin, service, ["VirtualObject", "Workflow"], "state");
  const { output } = context;
  if (name !== undefined) {
    const value = entries.get(name);
    if (value === undefined)
      return context.fail(
        FAILED,
        `${service}/${key} has no '${name}'`,
        `It has: ${[...entries.keys()].sort().join(", ") || "nothing"}`,
      );
    return output.result({ service, key, name, value: bytesJson(value), version }, () => output.value(bytesText(value, 2)));
  }
  const expiry = await expiryOf(context, admin, service, key);
  output.result({ service, key, version, state: asJson(entries), ...(expiry === undefined ? {} : { expiry }) }, () => {
    if (entries.size === 0) return output.note(`${service}/${key} has no state.`);
    output.facts(Object.entries(asJson(entries)).map(([entry, value]) => [entry, JSON.stringify(value)]));
    if (expiry !== undefined) output.note(`Expires at ${expiry.expires_at} unless it is changed before.`);
  });
}

// ── changes ──────────────────────────────────────────────────────────────────────────────────────

interface StateAddress {
  readonly service: string;
  readonly key: string;
}

interface StateSetFlags extends ChangeFlags {
  readonly file?: string;
  readonly raw?: boolean;
}

async function setOne(
  context: Context,
  place: StateAddress & { name: string },
  argument: string | undefined,
  flags: StateSetFlags,
): Promise<void> {
  if ((argument === undefined) === (flags.file === undefined)) context.fail(USAGE, "Give the value as an argument or as a file");
  const value = present(bodyOf(argument, flags.file));
  if (flags.raw !== true && jsonOf(Buffer.from(value).toString()) === undefined) {
    context.fail(USAGE, "The value is not valid JSON", `A text needs quotes: '"${argument ?? "…"}"'. Anything else needs --raw.`);
  }
  const { state } = adminOf(context);
  const before = await state.read(place.service, place.key, context);
  await replace(context, place, before, new Map([...before.entries, [place.name, value]]), flags);
}

async function clearSome(context: Context, place: StateAddress, names: readonly string[], flags: ChangeFlags): Promise<void> {
  const before = await adminOf(context).state.read(place.service, place.key, context);
  const missing = names.find((name) => !before.entries.has(name));
  if (missing !== undefined)
    context.fail(
      FAILED,
      `${place.service}/${place.key} has no '${missing}'`,
      `It has: ${[...before.entries.keys()].sort().join(", ") || "nothing"}`,
    );
  if (before.entries.size === 0)
    return context.output.result({ ...place, state: {} }, () => context.output.note("There is no state to remove."));
  const what = names.length === 0 ? `all ${before.entries.size} entries` : names.join(", ");
  if (!context.yes && !(await context.prompts.confirm(`Remove ${what} of ${place.service}/${place.key}?`, "--yes")))
    context.fail(FAILED, "Nothing was done");
  const kept = new Map([...before.entries].filter(([name]) => names.length > 0 && !names.includes(name)));
  await replace(context, place, before, kept, flags);
}

async function editAll(context: Context, service: string, key: string, flags: ChangeFlags): Promise<void> {
  const before = await adminOf(context).state.read(service, key, context);
  const edited = editJson(context, `${service}-${key}`, asJson(before.entries), "perdure state set");
  if (edited === undefined) return context.output.note("Nothing was changed.");
  if (typeof edited !== "object" || edited === null || Array.isArray(edited))
    return context.fail(FAILED, "The saved text is not a JSON object; nothing was changed");
  const after = new Map(Object.entries(edited).map(([name, value]) => [name, bytesOfEdited(before.entries.get(name), value)]));
  await replace(context, { service, key }, before, after, flags);
}

/** An unchanged value keeps its bytes; JSON that is written again may have other bytes for the same value. */
function bytesOfEdited(before: Uint8Array | undefined, value: unknown): Uint8Array {
  if (before !== undefined && JSON.stringify(bytesJson(before)) === JSON.stringify(value)) return before;
  if (isBase64(value)) return Buffer.from(value.base64, "base64");
  return Buffer.from(JSON.stringify(value));
}

function isBase64(value: unknown): value is { base64: string } {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).length === 1 &&
    "base64" in value &&
    typeof value.base64 === "string"
  );
}

async function replace(
  context: Context,
  place: StateAddress,
  before: KeyState,
  after: StateMap,
  flags: ChangeFlags,
): Promise<void> {
  const admin = adminOf(context);
  if (flags.force !== true && flags.expect !== undefined && flags.expect !== before.version) {
    context.fail(
      FAILED,
      `${place.service}/${place.key} has version ${before.version} now`,
      "The state was changed meanwhile: read it again, or use --force.",
    );
  }
  const expected = flags.force === true ? undefined : before.version;
  const operation = await admin.state.replace(place.service, place.key, after, expected, context);
  const version = stateVersion(after);
  const isApplied = await becomes(context, admin, place, version);
  const { output } = context;
  const state = asJson(after);
  const named = operation === undefined ? {} : { operation_id: operation };
  output.result({ ...place, version, state, applied: isApplied, ...named }, () => {
    output.facts(Object.entries(state).map(([name, value]) => [name, JSON.stringify(value)]));
    if (isApplied) output.note(`${place.service}/${place.key} has this state now.`);
    else
      output.warn(
        `The change waits for invocations that run on ${place.service}/${place.key}, and is dropped if they change the state first. Check again: perdure state get ${place.service} ${place.key}`,
      );
  });
  await noteUndo(context, operation);
}

/** An edit waits for a running handler, and the server does not report its outcome, so this polls for it. */
async function becomes(context: Context, admin: AdminClient, { service, key }: StateAddress, version: string): Promise<boolean> {
  const untilMs = context.clock.monotonicMs() + STATE_APPLIED_MS;
  for (;;) {
    if ((await admin.state.read(service, key, context)).version === version) return true;
    if (context.clock.monotonicMs() > untilMs) return false;
    await pause(context, STATE_PAUSE_MS);
  }
}
