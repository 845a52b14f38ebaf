/** `perdure deployments`: list, register, check, update and remove deployments. */
import {
  AdminApiError,
  type AdminClient,
  type DeploymentSummary,
  findingsOf,
  type Registration,
  sqlText,
} from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { CliError, FAILED } from "../../errors.js";
import { action, adminOf, asCliError } from "./connect.js";
import { changeLines, changesOf } from "./deployment-report.js";
import { noteUndo } from "./operations.js";
import { invocationsText, textOf, whenOf } from "./texts.js";
import { headers, pairs, wholeNumber } from "./values.js";
import { verificationLines } from "./verification.js";

export function registerDeployments(program: Command, context: Context): void {
  const deployments = program
    .command("deployments")
    .alias("deployment")
    .alias("dp")
    .helpGroup("Services and invocations:")
    .description("registered deployments: register, check, remove");
  deployments
    .command("list")
    .alias("ls")
    .description("list deployments, newest first, with the invocations that need each")
    .action(action(() => list(context)));
  deployments
    .command("describe")
    .argument("<deployment>", "its id")
    .description("show a deployment: services, invocations, the latest check")
    .action(action((id: string) => describe(context, id)));
  deployments
    .command("register")
    .argument("<address>", "http://…, https://…, tunnel://…, or the ARN of a Lambda function")
    .description("register an endpoint: shows what would change, and prompts")
    .option("--force", "replace what is registered at this address")
    .option("--breaking", "also when existing handlers are removed, or a check reports incompatible invocations")
    .option("--check", "first replay existing journals against the new code, without side effects")
    .option("--dry-run", "show the changes without making them")
    .option("--use-http1.1", "use HTTP/1.1 for the endpoint")
    .option("--assume-role-arn <arn>", "for Lambda functions: the role to invoke with")
    .option("-H, --header <name: value>", "send this header with each request to the endpoint; repeatable", headers)
    .option("--metadata <name=value>", "metadata of the deployment; repeatable", pairs)
    .action(action((address: string, flags: RegisterFlags) => register(context, address, flags)));
  deployments
    .command("update")
    .argument("<deployment>", "its id")
    .argument("[address]", "new address of the same code")
    .description("change the address or headers in place; the code must be the same")
    .option("--use-http1.1", "use HTTP/1.1 for the endpoint")
    .option("-H, --header <name: value>", "send this header with each request to the endpoint; repeatable", headers)
    .option("--overwrite", "also when services or handlers differ")
    .option("--dry-run", "check only")
    .action(
      action((id: string, address: string | undefined, flags: DeploymentUpdateFlags) => update(context, id, address, flags)),
    );
  deployments
    .command("check")
    .argument("<deployment>", "its id")
    .description(
      "check whether suspended and paused invocations can continue on it: replays their journals, without side effects",
    )
    .option("--in-flight <n>", "invocations in flight of each handler", wholeNumber(0, 1000))
    .option("--completed <n>", "completed invocations of each handler", wholeNumber(0, 1000))
    .action(action((id: string, flags: CheckFlags) => check(context, id, flags)));
  deployments
    .command("remove")
    .alias("rm")
    .argument("<deployment>", "its id")
    .description("remove a deployment; shows first which invocations still need it")
    .option("--force", "even when invocations still need it: their attempts fail until it is registered again")
    .action(action((id: string, { force }: { force?: boolean }) => remove(context, id, force === true)));
}

// ── list, describe ───────────────────────────────────────────────────────────────────────────────

interface Needed {
  readonly unfinished: number;
  readonly byService: readonly { readonly target: string; readonly status: string; readonly count: number }[];
}

const NOT_NEEDED: Needed = { unfinished: 0, byService: [] };

async function neededBy(admin: AdminClient, context: Context, id?: string): Promise<ReadonlyMap<string, Needed>> {
  const one = id === undefined ? "" : ` AND pinned_deployment_id = ${sqlText(id)}`;
  const rows = await admin.sql.query(
    "SELECT pinned_deployment_id, target_service_name, target_handler_name, status, count(1) AS invocations FROM sys_invocation " +
      `WHERE status != 'completed' AND pinned_deployment_id IS NOT NULL${one} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
    context,
  );
  const needed = new Map<string, { unfinished: number; byService: { target: string; status: string; count: number }[] }>();
  for (const row of rows) {
    const deployment = textOf(row, "pinned_deployment_id") ?? "";
    const count = Number(row["invocations"]);
    const usage = needed.get(deployment) ?? { unfinished: 0, byService: [] };
    usage.unfinished += count;
    const target = `${textOf(row, "target_service_name")}/${textOf(row, "target_handler_name")}`;
    usage.byService.push({ target, status: textOf(row, "status") ?? "", count });
    needed.set(deployment, usage);
  }
  return needed;
}

const addressOf = ({ uri, arn }: Pick<DeploymentSummary, "uri" | "arn">): string => uri ?? arn ?? "–";

async function list(context: Context): Promise<void> {
  const admin = adminOf(context);
  const [deployments, services, needed] = await Promise.all([
    admin.deployments.list(context),
    admin.services.list(context),
    neededBy(admin, context),
  ]);
  const latest = new Map(services.map((service) => [service.name, service.deployment_id]));
  const rows = [...deployments].reverse().map((deployment) => {
    const unfinished = (needed.get(deployment.id) ?? NOT_NEEDED).unfinished;
    const serves = deployment.services.some(({ name }) => latest.get(name) === deployment.id);
    const state = serves ? "active" : unfinished > 0 ? "draining" : "drained";
    return { ...deployment, state, unfinished_invocations: unfinished };
  });
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ deployments: rows }, () =>
    output.table(
      [
        { title: "ID", show: ({ id }) => id },
        {
          title: "STATE",
          show: ({ state }) => output.paint(state === "active" ? "green" : state === "draining" ? "yellow" : "dim", state),
        },
        { title: "INVOCATIONS", align: "right", show: (row) => String(row.unfinished_invocations) },
        { title: "REGISTERED", show: ({ created_at }) => whenOf(created_at, nowMs) },
        { title: "ADDRESS", cutTo: 20, show: addressOf },
        {
          title: "SERVICES",
          cutTo: 12,
          show: (row) => row.services.map(({ name, revision }) => `${name}:${revision}`).join(" "),
        },
      ],
      rows,
      "Nothing is registered. Start your service and run: perdure deployments register http://localhost:9080",
    ),
  );
}

async function describe(context: Context, id: string): Promise<void> {
  const admin = adminOf(context);
  const [deployment, needed] = await Promise.all([admin.deployments.get(id, context), neededBy(admin, context, id)]);
  const { unfinished, byService } = needed.get(deployment.id) ?? NOT_NEEDED;
  const { output } = context;
  output.result({ ...deployment, unfinished_invocations: byService }, () => {
    output.facts([
      ["Id", deployment.id],
      ["Address", addressOf(deployment)],
      ["Transport", deployment.arn === undefined ? `${deployment.protocol_type}, ${deployment.http_version}` : "AWS Lambda"],
      ["SDK", deployment.sdk_version ?? undefined],
      ["Protocol", `${deployment.min_protocol_version} to ${deployment.max_protocol_version}`],
      ["Registered", deployment.created_at],
      ["Headers", namesOf(deployment.additional_headers)],
      ["Runs on it", unfinished === 0 ? "nothing" : invocationsText(unfinished)],
    ]);
    for (const { target, status, count } of byService) output.print(`  ${count} ${status}: ${target}`);
    output.print();
    for (const service of deployment.services) {
      const handlers = service.handlers.map(({ name }) => name).join(", ");
      output.print(`${output.paint("bold", service.name)} (${service.ty}, revision ${service.revision}): ${handlers}`);
    }
    if (deployment.verification !== undefined) {
      output.print();
      for (const line of verificationLines(deployment.verification)) output.print(line);
    }
  });
}

/** Names only, because values may be secrets. */
function namesOf(texts: Readonly<Record<string, string>> | undefined): string | undefined {
  const names = Object.keys(texts ?? {});
  return names.length === 0 ? undefined : names.join(", ");
}

// ── register, update, check ──────────────────────────────────────────────────────────────────────

interface RegisterFlags {
  readonly force?: boolean;
  readonly breaking?: boolean;
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly "useHttp1.1"?: boolean;
  readonly assumeRoleArn?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
}

async function register(context: Context, address: string, flags: RegisterFlags): Promise<void> {
  const admin = adminOf(context);
  const { output } = context;
  const registration: Registration = {
    address: addressFor(address),
    useHttp11: flags["useHttp1.1"] === true,
    assumeRoleArn: flags.assumeRoleArn,
    ...(flags.header === undefined ? {} : { headers: flags.header }),
    ...(flags.metadata === undefined ? {} : { metadata: flags.metadata }),
    force: flags.force === true,
    breaking: flags.breaking === true,
  };
  const verify = flags.check === true;
  const currentServices = await admin.services.list(context);
  const preview = await output.during(verify ? `Checking ${address}` : `Discovering ${address}`, () =>
    refusalWithFindings(admin.deployments.register({ ...registration, verify, dryRun: true }, context)),
  );
  const changes = changesOf(currentServices, preview.deployment.services);
  if (!context.json) {
    for (const line of changeLines(changes)) output.note(`  ${line}`);
    if (preview.deployment.verification !== undefined)
      for (const line of verificationLines(preview.deployment.verification)) output.note(line);
  }
  if (flags.dryRun === true) {
    return output.result({ dry_run: true, ...preview.deployment, changes }, () =>
      output.print("Nothing was changed: this was a dry run."),
    );
  }
  // A script does not confirm; a user at a terminal first sees what would happen.
  if (!context.yes && !context.json && context.prompts.isInteractive) {
    if (!(await context.prompts.confirm(`Register ${address}?`, "--yes"))) context.fail(FAILED, "Nothing was done");
  }
  const { deployment, isNew } = await admin.deployments.register(registration, context);
  output.result({ ...deployment, is_new: isNew, changes }, () =>
    output.print(
      isNew
        ? `Registered as ${deployment.id}`
        : `${deployment.id} is ${registration.force === true ? "replaced" : "registered already, and unchanged"}`,
    ),
  );
}

/** Users type `9080` and `localhost:9080`. */
function addressFor(text: string): string {
  if (/^\d{1,5}$/.test(text)) return `http://localhost:${text}`;
  return /^[a-z][a-z0-9+.-]*:/i.test(text) && !/^[a-z0-9.-]+:\d+(?:\/|$)/i.test(text) ? text : `http://${text}`;
}

/** A refusal by a check has its findings in the body. */
async function refusalWithFindings<T>(registering: Promise<T>): Promise<T> {
  try {
    return await registering;
  } catch (cause) {
    if (!(cause instanceof AdminApiError)) throw cause;
    const verification = findingsOf(cause);
    if (verification === undefined) throw cause;
    const { message, advice, code } = asCliError(cause);
    throw new CliError(FAILED, [message, ...verificationLines(verification)].join("\n"), advice, { cause, code });
  }
}

interface DeploymentUpdateFlags extends Pick<RegisterFlags, "header" | "useHttp1.1" | "dryRun"> {
  readonly overwrite?: boolean;
}

async function update(context: Context, id: string, address: string | undefined, flags: DeploymentUpdateFlags): Promise<void> {
  const { header, overwrite, dryRun } = flags;
  const changes = {
    ...(address === undefined ? {} : { address: addressFor(address) }),
    ...(flags["useHttp1.1"] === undefined ? {} : { useHttp11: flags["useHttp1.1"] }),
    ...(header === undefined ? {} : { headers: header }),
    overwrite: overwrite === true,
    dryRun: dryRun === true,
  };
  const deployment = await adminOf(context).deployments.update(id, changes, context);
  context.output.result(deployment, () =>
    context.output.print(
      dryRun === true
        ? "It could be changed. Nothing was: this was a dry run."
        : `${deployment.id} is at ${addressOf(deployment)}`,
    ),
  );
}

interface CheckFlags {
  readonly inFlight?: number;
  readonly completed?: number;
}

async function check(context: Context, id: string, { inFlight, completed }: CheckFlags): Promise<void> {
  const bounds = {
    ...(inFlight === undefined ? {} : { in_flight_per_handler: inFlight }),
    ...(completed === undefined ? {} : { completed_per_handler: completed }),
  };
  const { output } = context;
  const outcome = await output.during(`Checking ${id}`, () => adminOf(context).deployments.check(id, bounds, context));
  output.result(outcome, () => {
    for (const line of verificationLines(outcome)) output.print(line);
  });
  if (outcome.incompatible > 0) context.fail(FAILED, `${invocationsText(outcome.incompatible)} could not continue there`);
}

// ── remove ───────────────────────────────────────────────────────────────────────────────────────

async function remove(context: Context, id: string, force: boolean): Promise<void> {
  const admin = adminOf(context);
  const [deployment, needed, services] = await Promise.all([
    admin.deployments.get(id, context),
    neededBy(admin, context, id),
    admin.services.list(context),
  ]);
  const { unfinished, byService } = needed.get(deployment.id) ?? NOT_NEEDED;
  const served = services.filter((service) => service.deployment_id === deployment.id).map(({ name }) => name);
  const { output } = context;
  for (const { target, status, count } of byService) output.note(`  ${count} ${status} on it: ${target}`);
  if (served.length > 0) output.note(`  serves now: ${served.join(", ")}`);
  if (!force && (unfinished > 0 || served.length > 0)) {
    const why =
      unfinished > 0
        ? `${invocationsText(unfinished)} still ${unfinished === 1 ? "needs" : "need"} it`
        : `it serves ${served.join(", ")}`;
    context.fail(
      FAILED,
      `${id} was not removed: ${why}`,
      unfinished > 0
        ? `Wait until they are done, move them (perdure invocations resume --on-deployment ${id} --deployment latest), or use --force.`
        : "Register newer code first, or use --force: these services cannot be called then.",
    );
  }
  if (!context.yes && !(await context.prompts.confirm(`Remove ${id} (${addressOf(deployment)})?`, "--yes"))) {
    context.fail(FAILED, "Nothing was done");
  }
  const operation = await admin.deployments.remove(id, force, context);
  output.result({ id, removed: true, unfinished_invocations: byService }, () => output.print(`${id} is removed`));
  await noteUndo(context, operation);
}
