/** `perdure bundle`: writes everything that a replay of an invocation needs to one file. */
import { chmodSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { BundleView } from "@perdure/admin-client";
import { formatByteSize } from "@perdure/base";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { action, adminOf } from "./connect.js";
import { invocationId, repeated } from "./values.js";

interface BundleFlags {
  readonly out?: string;
  readonly keep?: readonly string[];
  /** Names; false: `--no-redact`. */
  readonly redact?: readonly string[] | boolean;
  readonly keepOtherFormats?: boolean;
}

export function registerBundle(program: Command, context: Context): void {
  program
    .command("bundle")
    .helpGroup("Services and invocations:")
    .argument("<id>", "of an invocation", invocationId)
    .description("write an invocation to a file without its secrets, for 'perdure replay'")
    .option("-o, --out <file>", "the file; <id>.bundle.json.gz by default")
    .option("--redact <name>", "a further name of fields, steps or state keys that hold secrets; may be repeated", repeatedNames)
    .option("--keep <name>", "a name whose values stay as they are; may be repeated", repeated)
    .option("--keep-other-formats", "leave payloads that are not JSON as they are")
    .option("--no-redact", "leave payloads and error messages as they are; credentials in headers are replaced all the same")
    .action(action((id: string, flags: BundleFlags) => bundle(context, id, flags)));
}

/** The value before is `true` by default, because there is a `--no-redact`. */
function repeatedNames(value: string, before: readonly string[] | boolean | undefined): readonly string[] {
  return repeated(value, Array.isArray(before) ? before : undefined);
}

async function bundle(context: Context, id: string, flags: BundleFlags): Promise<void> {
  const { output } = context;
  const redact = flags.redact !== false;
  const view = await adminOf(context).invocations.bundle(id, {
    signal: context.signal,
    redact,
    secret: Array.isArray(flags.redact) ? flags.redact : undefined,
    keep: flags.keep,
    keepOtherFormats: flags.keepOtherFormats,
  });
  const file = flags.out ?? `${id}.bundle.json.gz`;
  const bytes = gzipSync(JSON.stringify(view));
  try {
    // Readable by its owner alone: what rules do not recognise as a secret is in the file.
    writeFileSync(file, bytes, { mode: 0o600 });
    chmodSync(file, 0o600); // A file that existed keeps its mode otherwise.
  } catch (cause) {
    context.fail(FAILED, `${file} could not be written`, "Choose another file with --out.", cause);
  }
  if (!redact) output.warn("The file contains payloads as they are, secrets included. Do not send it to others.");
  report(context, file, bytes.length, view);
}

function report({ output }: Context, file: string, bytes: number, view: BundleView): void {
  const { invocation, journal, deployment, redaction, error } = view;
  const { length } = journal.entries;
  const summary = {
    file,
    bytes,
    invocation_id: invocation.id,
    status: invocation.status,
    entries: length,
    journal_length: journal.length,
    redacted: redaction?.changed ?? null,
    unsearched: redaction?.unsearched ?? 0,
    error: error === null ? null : { code: error.restate_code, message: error.message },
  };
  output.result(summary, () => {
    output.facts([
      ["File", `${file} (${formatByteSize(bytes)})`],
      ["Target", view.timeline.target],
      ["Status", invocation.status],
      ["Journal", `${length} entries${length < journal.length ? ` of ${journal.length}: the others were deleted` : ""}`],
      ["Deployment", deployment === null ? undefined : `${deployment.deployment_id} ${deployment.sdk ?? ""}`.trim()],
      ["Error", error === null ? undefined : error.message.split("\n", 1)[0]],
      ["Redacted", redaction === null ? "credentials in headers only" : `${redaction.changed} values`],
    ]);
    if (summary.unsearched > 0) output.warn(unsearchedText(summary.unsearched));
    if (journal.length > 0 && length === 0) output.warn("Its journal was deleted, so that it cannot be replayed.");
    else output.note(`perdure replay ${file} --endpoint http://localhost:9080`);
  });
}

function unsearchedText(count: number): string {
  return `${count} secrets are replaced where the name of their field shows them, and may be elsewhere in the file: there are too many.`;
}
