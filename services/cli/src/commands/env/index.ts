/** Why: environments: those of the cloud, and the names they have on this machine. */
import { type Command, Option } from "commander";
import { ENVIRONMENT_ARGUMENT } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { timeBefore } from "../../options.js";
import { type CreateFlags, create } from "./create.js";
import { destroy, FORWARDING, resume, suspend, type UpdateFlags, undelete, update } from "./lifecycle.js";
import { current, describe, list } from "./list.js";
import { type LogFlags, logs } from "./logs.js";
import { type ConfigureFlags, configure, use } from "./profiles.js";

export function register(program: Command, context: Context): void {
  const env = program.command("env").helpGroup("Cloud:").description("environments, and which one is in use");
  env
    .command("list")
    .description("environments of your accounts, and profiles of this machine")
    .action(() => list(context));
  env
    .command("create")
    .description("make an environment, wait until it is ready, and give it a profile here")
    .argument("<name>", "a-z, 0-9 and '-'; at most 40")
    .option("--region <region>", "where it runs", "us")
    .option("--description <text>")
    .option("--no-wait", "do not wait until it is ready")
    .option("--no-configure", "do not give it a profile here")
    .option("--use", "use it from now on")
    .action((name: string, flags: CreateFlags) => create(context, name, flags));
  env
    .command("configure")
    .description("give an environment of the cloud a profile here, for this and for the 'restate' command line, and use it")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .option("--name <profile>", "name of the profile (default: that of the environment)")
    .option("--api-key <key>", "keep this key in the profile, so that it needs no login; '-' reads it from stdin")
    .option("--with-key", "make a key for the profile")
    .option("--no-use", "do not use it from now on")
    .action((environment: string | undefined, flags: ConfigureFlags) => configure(context, environment, flags));
  env
    .command("use")
    .description("use this environment where none is named; 'local' is the server on this machine")
    .argument("<profile>")
    .action((name: string) => use(context, name));
  env
    .command("current")
    .description("the environment in use")
    .action(() => current(context));
  env
    .command("describe")
    .description("everything about one")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => describe(context, environment));
  env
    .command("update")
    .description("change its name, its description, who may call it from browsers, or what handlers see of callers")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .option("--rename <name>")
    .option("--description <text>")
    .option("--cors-origin <origin...>", "origins that browsers may call the ingress from; '*' for any, 'none' for none")
    .addOption(
      new Option("--foreign-authorization <what>", "what becomes of authorization headers of other systems").choices(FORWARDING),
    )
    .action((environment: string | undefined, flags: UpdateFlags) => update(context, environment, flags));
  env
    .command("suspend")
    .description("stop it; its data stay")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => suspend(context, environment));
  env
    .command("resume")
    .description("let it go on")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => resume(context, environment));
  env
    .command("delete")
    .description("delete it and, some days later, its data")
    .argument("<environment>", ENVIRONMENT_ARGUMENT)
    .action((environment: string) => destroy(context, environment));
  env
    .command("undelete")
    .description("take a deletion back while the data are there")
    .argument("<environment>", ENVIRONMENT_ARGUMENT)
    .option("--rename <name>", "when its name was taken meanwhile")
    .action((environment: string, flags: { rename?: string }) => undelete(context, environment, flags.rename));
  env
    .command("logs")
    .description("what its runtime and its doors wrote")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .option("--since <time>", "duration or date", timeBefore(context.clock))
    .option("--until <time>", "duration or date", timeBefore(context.clock))
    .option("-f, --follow", "go on with what comes")
    .action((environment: string | undefined, flags: LogFlags) => logs(context, environment, flags));
}
