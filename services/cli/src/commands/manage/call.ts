/** `perdure call` and `perdure send`: call a handler from a shell without URLs and headers. */
import { type HandlerAddress, type HandlerInput, InvocationFailure } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { CliError, FAILED, USAGE } from "../../errors.js";
import { CallProgress } from "./call-progress.js";
import { action, adminOf, asCliError, harmless, ingressOf } from "./connect.js";
import { bytesJson, bytesText, jsonOf } from "./texts.js";
import { bodyOf, durationText, headers, wholeNumber } from "./values.js";

interface CallFlags {
  readonly key?: string;
  readonly file?: string;
  readonly idempotencyKey?: string;
  readonly delay?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly scope?: string;
  readonly limitKey?: string;
  readonly priority?: number;
}

export function registerCalls(program: Command, context: Context): void {
  const call = program
    .command("call")
    .description("call a handler, wait, and print its result; reports the invocation's id after two seconds")
    .action(action((target: string, body: string | undefined, flags: CallFlags) => callHandler(context, target, body, flags)));
  const send = program
    .command("send")
    .description("send a message to a handler without waiting, now or later")
    .option("--delay <duration>", "delay before the start, e.g. 10m", durationText)
    .action(action((target: string, body: string | undefined, flags: CallFlags) => sendToHandler(context, target, body, flags)));
  for (const command of [call, send]) {
    command
      .helpGroup("Services and invocations:")
      .argument("<target>", "Service/handler, or Object/key/handler")
      .argument("[body]", "JSON; - reads it from stdin")
      .option("-k, --key <key>", "of an object or workflow, when it is not in the target")
      .option("-f, --file <path>", "send the content of this file")
      .option("--idempotency-key <key>", "calls with the same key run once")
      .option("-H, --header <name: value>", "pass this header to the handler; repeatable", headers)
      .option("--content-type <type>", "of the body; application/json by default")
      .option("--scope <scope>", "scope of flow control")
      .option("--limit-key <key>", "limit key within the scope")
      .option("--priority <n>", "1 is the highest, 5 the lowest", wholeNumber(1, 5));
  }
}

async function callHandler(context: Context, target: string, argument: string | undefined, flags: CallFlags): Promise<void> {
  const { address, input } = requestOf(context, target, argument, flags);
  const { output } = context;
  using progress = new CallProgress(context, adminOf(context), address);
  const headers = { traceparent: progress.traceparent, ...input.headers };
  if (flags.header?.["traceparent"] === undefined) void progress.report();
  try {
    const outcome = await ingressOf(context).call(address, { ...input, headers });
    output.result({ invocation_id: outcome.invocationId ?? null, result: bytesJson(outcome.body) }, () => {
      if (outcome.invocationId !== undefined) output.note(output.paint("dim", outcome.invocationId));
      if (outcome.body.length > 0) output.value(bytesText(outcome.body, 2));
    });
  } catch (cause) {
    if (context.signal.aborted) output.note(progress.interrupted());
    throw cause instanceof InvocationFailure ? await failureOf(context, address, cause) : cause;
  }
}

async function sendToHandler(context: Context, target: string, argument: string | undefined, flags: CallFlags): Promise<void> {
  const { address, input } = requestOf(context, target, argument, flags);
  const { output } = context;
  try {
    const sent = await ingressOf(context).send(address, input, flags.delay);
    const { invocationId, status, executionTime } = sent;
    output.result({ invocation_id: invocationId, status, execution_time: executionTime ?? null }, () => {
      output.print(sent.invocationId);
      const repeatNote = sent.status === "PreviouslyAccepted" ? "It was sent before. " : "";
      const later = sent.executionTime === undefined ? "" : `It begins at ${sent.executionTime}. `;
      output.note(`${repeatNote}${later}Follow it: perdure invocations watch ${sent.invocationId}`);
    });
  } catch (cause) {
    throw cause instanceof InvocationFailure ? await failureOf(context, address, cause) : cause;
  }
}

/** An error of user code is shown unchanged; a path that does not fit the type of its service is explained in the form of the command. */
async function failureOf(context: Context, address: HandlerAddress, failure: InvocationFailure): Promise<CliError> {
  if (failure.source !== "invocation") return (await misfitOf(context, address, failure)) ?? asCliError(failure);
  const advice =
    failure.invocationId === undefined ? undefined : `What happened: perdure invocations describe ${failure.invocationId}`;
  return new CliError(FAILED, `The handler failed: [${failure.status}] ${harmless(failure.message)}`, advice, {
    cause: failure,
    facts: { invocation_id: failure.invocationId ?? null, status: failure.status },
  });
}

const STATUS_OF_MISFITS: ReadonlySet<number> = new Set([400, 404]);

/** A key for a service without keys, or a missing key; undefined when the cause is another one, or cannot be determined. */
async function misfitOf(
  context: Context,
  { service, handler, key }: HandlerAddress,
  cause: InvocationFailure,
): Promise<CliError | undefined> {
  if (!STATUS_OF_MISFITS.has(cause.status)) return undefined;
  // The credential may allow calls but not reads of the registry; then the refusal of the ingress stands.
  const ty = await adminOf(context)
    .services.get(service, context)
    .then(
      (view) => view.ty,
      () => undefined,
    );
  if (ty === undefined || (ty === "Service") === (key === undefined)) return undefined;
  if (ty === "Service")
    return new CliError(USAGE, `${service} is a service, which has no keys`, `Write: ${service}/${handler}`, { cause });
  const what = ty === "Workflow" ? "workflow" : "virtual object";
  return new CliError(USAGE, `${service} is a ${what}: its key is missing`, `Write: ${service}/<key>/${handler}`, { cause });
}

function requestOf(
  context: Context,
  target: string,
  argument: string | undefined,
  flags: CallFlags,
): { address: HandlerAddress; input: HandlerInput } {
  if (argument !== undefined && flags.file !== undefined)
    context.fail(USAGE, "Give the body as an argument or as a file, not both");
  const body = bodyOf(argument, flags.file);
  if (body !== undefined && (flags.contentType ?? "application/json") === "application/json") {
    const text = Buffer.from(body).toString();
    if (jsonOf(text) === undefined) {
      const quoted = JSON.stringify(text.trim());
      context.fail(
        USAGE,
        "The body is not valid JSON",
        `A text needs quotes: '${quoted.length < 60 ? quoted : '"…"'}'. Anything else needs --content-type.`,
      );
    }
  }
  return {
    address: addressOf(context, target, flags.key),
    input: {
      body,
      contentType: flags.contentType,
      idempotencyKey: flags.idempotencyKey,
      ...(flags.header === undefined ? {} : { headers: flags.header }),
      scope: flags.scope,
      limitKey: flags.limitKey,
      priority: flags.priority,
      signal: context.signal,
    },
  };
}

/** Keys may have slashes: the first part is the service, the last the handler. */
function addressOf(context: Context, target: string, key: string | undefined): HandlerAddress {
  const first = target.indexOf("/");
  const last = target.lastIndexOf("/");
  const service = target.slice(0, first);
  const handler = target.slice(last + 1);
  if (first <= 0 || handler === "" || (key !== undefined && first !== last)) {
    context.fail(
      USAGE,
      `'${target}' names no handler`,
      "Write Service/handler, Object/key/handler, or Object/handler with --key.",
    );
  }
  return { service, handler, key: key ?? (first === last ? undefined : target.slice(first + 1, last)) };
}
