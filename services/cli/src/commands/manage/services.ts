/** `perdure services`: callable services, how to call them, and the few settings that can change without new code. */
import { type HandlerMetadata, handlerPath, isRecord, type ServiceChanges, type ServiceMetadata } from "@perdure/admin-client";
import type { Command } from "commander";
import { z } from "zod";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { action, adminOf } from "./connect.js";
import { editJson } from "./editor.js";
import { durationText, pairs } from "./values.js";

export function registerServices(program: Command, context: Context): void {
  const services = program
    .command("services")
    .alias("service")
    .alias("svc")
    .helpGroup("Services and invocations:")
    .description("services, their handlers and settings");
  services
    .command("list")
    .alias("ls")
    .description("list services in their latest revisions")
    .action(action(() => list(context)));
  services
    .command("describe")
    .argument("<service>")
    .description("show a service: handlers with a curl command for each, settings")
    .action(action((name: string) => describe(context, name)));
  services
    .command("openapi")
    .argument("<service>")
    .description("print how to call it, as an OpenAPI document")
    .action(action(async (name: string) => context.output.json(await adminOf(context).services.openapi(name, context))));
  const config = services.command("config").description("settings that are valid until the next registration");
  config
    .command("view")
    .argument("<service>")
    .description("show them")
    .action(action((name: string) => view(context, name)));
  config
    .command("edit")
    .argument("<service>")
    .description("change them in your editor")
    .action(action((name: string) => edit(context, name)));
  const set = config.command("set").argument("<service>").description("change some of them");
  set.option("--public", "callable through the ingress").option("--private", "callable by handlers only");
  for (const [flag, what] of DURATIONS) set.option(`--${flag.replaceAll("_", "-")} <duration>`, what, durationText);
  for (const [name, what] of HANDLER_RULES) set.option(`--${name} <handler=rule>`, what, pairs);
  set.action(
    action((name: string, flags: Readonly<Record<string, unknown>>) => change(context, name, changesOf(context, flags))),
  );
}

const DURATIONS = [
  ["idempotency_retention", "how long results of calls with an idempotency key are kept"],
  ["workflow_completion_retention", "how long results of workflows are kept"],
  ["journal_retention", "how long journals of completed invocations are kept"],
  ["inactivity_timeout", "after how long without progress an invocation is suspended"],
  ["abort_timeout", "after how long a handler that does not suspend is aborted"],
  ["state_ttl", "after how long the state of an object expires that is not changed, 0s for never"],
] as const;

/** By handler. `off` removes a rule. */
const HANDLER_RULES = [
  ["debounce", "make a burst of requests to a handler one invocation, e.g. rebuild='5s;max=1m', or rebuild=off; repeatable"],
  ["throttle", "run at most some of the requests of a period, e.g. send='1m;limit=3', or send=off; repeatable"],
] as const;

/** Settings that no manifest has, and that later registrations keep. */
const KEPT_SETTINGS: ReadonlySet<string> = new Set(["state_ttl", "debounce", "throttle"]);

async function list(context: Context): Promise<void> {
  const services = await adminOf(context).services.list(context);
  const { output } = context;
  output.result({ services }, () =>
    output.table(
      [
        { title: "NAME", show: ({ name }) => name },
        { title: "TYPE", show: ({ ty }) => ty },
        { title: "REVISION", align: "right", show: ({ revision }) => String(revision) },
        { title: "DEPLOYMENT", show: (row) => row.deployment_id },
        { title: "PUBLIC", show: (row) => (row.public ? "yes" : "no") },
        { title: "HANDLERS", cutTo: 12, show: ({ handlers }) => handlers.map(({ name }) => name).join(", ") },
      ],
      [...services].sort((a, b) => (a.name < b.name ? -1 : 1)),
      "No services. Register the endpoint that serves yours: perdure deployments register http://localhost:9080",
    ),
  );
}

async function describe(context: Context, name: string): Promise<void> {
  const service = await adminOf(context).services.get(name, context);
  const { output } = context;
  const { ingressUrl } = context.environment();
  output.result(service, () => {
    output.facts([
      ["Name", service.name],
      ["Type", service.ty],
      ["Revision", `${service.revision}, on ${service.deployment_id}`],
      ["Public", service.public ? "yes" : "no"],
      ["About", service.documentation ?? undefined],
      ...settingsOf(service).map(([key, value]) => [titleOf(key), value] as const),
    ]);
    for (const handler of service.handlers) {
      output.print();
      output.print(
        `${output.paint("bold", handler.name)}${handler.ty === undefined || handler.ty === null ? "" : ` (${handler.ty})`}: ${handler.input_description} → ${handler.output_description}`,
      );
      if (service.public && handler.public) output.print(`  ${curlOf(ingressUrl, service, handler)}`);
    }
  });
}

/** A curl command for the handler. Users replace the key. */
export function curlOf(ingressUrl: string, service: ServiceMetadata, handler: HandlerMetadata): string {
  const key = service.ty === "Service" ? undefined : "my-key";
  const url = `${ingressUrl.replace(/\/$/, "")}${handlerPath("call", { service: service.name, key, handler: handler.name })}`;
  const body = exampleOf(handler);
  const data = body === undefined ? "" : ` --json ${shellQuoted(body)}`;
  return `curl ${url.replace(/^http:\/\//, "")}${data === "" ? " -X POST" : data}`;
}

/** Not JSON: a command that is pasted without a change is refused, whereas an invented value could become part of a state. */
const UNKNOWN_BODY = "<JSON>";

/** A body that the handler may accept; undefined when it takes none. */
function exampleOf(handler: HandlerMetadata): string | undefined {
  if (handler.input_description === "none") return undefined;
  const schema = handler.input_json_schema;
  const isDescribed = typeof schema === "object" && schema !== null && Object.keys(schema).length > 0;
  return isDescribed ? JSON.stringify(exampleValue(schema, 0)) : UNKNOWN_BODY;
}

/** Deeper examples are not readable on one line. */
const EXAMPLE_DEPTH_MAX = 4;

/** `schema` comes from a user's endpoint, so each of its parts may have any form. */
function exampleValue(schema: unknown, depth: number): unknown {
  const part = isRecord(schema) ? schema : {};
  const given = firstOf(part["examples"]) ?? part["default"] ?? firstOf(part["enum"]);
  if (given !== undefined) return given;
  switch (firstOf(part["type"]) ?? part["type"]) {
    case "number":
    case "integer":
      return 1;
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return [];
    case "object": {
      if (depth >= EXAMPLE_DEPTH_MAX) return {};
      const properties = isRecord(part["properties"]) ? part["properties"] : {};
      return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, exampleValue(inner, depth + 1)]));
    }
    default:
      return "Ann";
  }
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

/** Returns the text in single quotes, which every shell accepts. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// ── settings ─────────────────────────────────────────────────────────────────────────────────────

function settingsOf(service: ServiceMetadata): readonly (readonly [string, string])[] {
  return DURATIONS.flatMap(([name]) => {
    const value = service[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
}

/** `Idempotency retention`. */
const titleOf = (name: string): string => `${name[0]?.toUpperCase()}${name.slice(1).replaceAll("_", " ")}`;

const asJson = (service: ServiceMetadata): Readonly<Record<string, unknown>> => ({
  public: service.public,
  ...Object.fromEntries(settingsOf(service)),
});

async function view(context: Context, name: string): Promise<void> {
  const service = await adminOf(context).services.get(name, context);
  const { output } = context;
  output.result(withRules(service), () => output.facts(factsOf(service)));
}

/** The settings, and the rules of handlers. */
function withRules(service: ServiceMetadata): object {
  const rules = HANDLER_RULES.flatMap(([name]) => {
    const own = service.handlers.flatMap((handler) =>
      handler[name] === undefined ? [] : [[handler.name, handler[name]] as const],
    );
    return own.length === 0 ? [] : [[name, Object.fromEntries(own)] as const];
  });
  return { ...asJson(service), ...Object.fromEntries(rules) };
}

function factsOf(service: ServiceMetadata): readonly (readonly [string, string])[] {
  const rules = service.handlers.flatMap((handler) =>
    HANDLER_RULES.flatMap(([name]) =>
      handler[name] === undefined ? [] : [[`${name} of ${handler.name}`, handler[name]] as const],
    ),
  );
  return [...Object.entries(asJson(service)).map(([key, value]) => [key, String(value)] as const), ...rules];
}

const settingsShape = z.strictObject({
  public: z.boolean().optional(),
  ...Object.fromEntries(DURATIONS.map(([name]) => [name, z.string().optional()])),
});

async function edit(context: Context, name: string): Promise<void> {
  const service = await adminOf(context).services.get(name, context);
  const edited = editJson(context, `${name}-settings`, asJson(service), "perdure services config set");
  if (edited === undefined) return context.output.note("Nothing was changed.");
  const parsed = settingsShape.safeParse(edited);
  if (!parsed.success)
    context.fail(FAILED, `Nothing was changed: ${parsed.error.issues[0]?.message}`, "Keep the names of the settings.");
  const before = asJson(service);
  const changed = Object.entries(parsed.data).filter(([key, value]) => value !== before[key]);
  await change(context, name, Object.fromEntries(changed) as ServiceChanges);
}

function changesOf(context: Context, flags: Readonly<Record<string, unknown>>): ServiceChanges {
  if (flags["public"] === true && flags["private"] === true) context.fail(USAGE, "--public and --private exclude each other");
  const changes: Record<string, unknown> = {};
  if (flags["public"] === true || flags["private"] === true) changes["public"] = flags["public"] === true;
  for (const [name] of DURATIONS) {
    const value = flags[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (value !== undefined) changes[name] = value;
  }
  for (const [name] of HANDLER_RULES) if (flags[name] !== undefined) changes[name] = flags[name];
  if (Object.keys(changes).length === 0)
    context.fail(USAGE, "Nothing to change was named", "See: perdure services config set --help");
  return changes as ServiceChanges;
}

async function change(context: Context, name: string, changes: ServiceChanges): Promise<void> {
  if (Object.keys(changes).length === 0) return context.output.note("Nothing was changed.");
  const service = await adminOf(context).services.modify(name, changes, context);
  const { output } = context;
  output.result(withRules(service), () => {
    output.facts(factsOf(service));
    const isKept = Object.keys(changes).every((setting) => KEPT_SETTINGS.has(setting));
    const until = isKept ? "" : `, until ${name} is registered again`;
    output.note(`Valid from now on${until}.`);
  });
}
