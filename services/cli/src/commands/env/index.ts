/** `perdure env`: environments of the cloud, and their names on this machine. */
import { type Command, Option } from "commander";
import { ENVIRONMENT_ARGUMENT } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { timeBefore } from "../../options.js";
import { create, type EnvCreateFlags } from "./create.js";
import { destroy, type EnvUpdateFlags, FORWARDING, resume, suspend, undelete, update } from "./lifecycle.js";
import { current, describe, list } from "./list.js";
import { type EnvLogFlags, logs } from "./logs.js";
import { type ConfigureFlags, configure, use } from "./profiles.js";

export function register(program: Command, context: Context): void {
  const env = program.command("env").helpGroup("Cloud:").description("environments, and which one is in use");
  env
    .command("list")
    .description("environments of your accounts, and profiles of this machine")
    .action(() => list(context));
  env
    .command("create")
    .description("create an environment, wait until it is ready, and write a profile for it")
    .argument("<name>", "a-z, 0-9 and '-'; at most 40")
    .option("--region <region>", "where it runs", "us")
    .option("--description <text>")
    .option("--no-wait", "do not wait until it is ready")
    .option("--no-configure", "do not write a profile")
    .option("--use", "use it by default")
    .action((name: string, flags: EnvCreateFlags) => create(context, name, flags));
  env
    .command("configure")
    .description("write a profile for an environment of the cloud, for this and for the 'restate' command line, and use it")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .option("--name <profile>", "name of the profile (default: that of the environment)")
    .option("--api-key <key>", "store this key in the profile, which then needs no login; '-' reads it from stdin")
    .option("--with-key", "create a key for the profile")
    .option("--no-use", "do not use it by default")
    .action((environment: string | undefined, flags: ConfigureFlags) => configure(context, environment, flags));
  env
    .command("use")
    .description("use this environment by default; 'local' is the server on this machine")
    .argument("<profile>")
    .action((name: string) => use(context, name));
  env
    .command("current")
    .description("the environment in use")
    .action(() => current(context));
  env
    .command("describe")
    .description("show an environment")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => describe(context, environment));
  registerLifecycle(env, context);
  env
    .command("logs")
    .description("logs of its runtime and gateways")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .option("--since <time>", "duration or date", timeBefore(context.clock))
    .option("--until <time>", "duration or date", timeBefore(context.clock))
    .option("-f, --follow", "follow new lines")
    .action((environment: string | undefined, flags: EnvLogFlags) => logs(context, environment, flags));
}

/** Commands that change an environment that exists. */
function registerLifecycle(env: Command, context: Context): void {
  env
    .command("update")
    .description("change name, description, CORS origins, or the handling of authorization headers")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .option("--rename <name>")
    .option("--description <text>")
    .option("--cors-origin <origin...>", "origins that browsers may call the ingress from; '*' for any, 'none' for none")
    .addOption(
      new Option("--foreign-authorization <what>", "what happens to authorization headers of other systems").choices(FORWARDING),
    )
    .action((environment: string | undefined, flags: EnvUpdateFlags) => update(context, environment, flags));
  env
    .command("suspend")
    .description("suspend an environment; its data are kept")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => suspend(context, environment));
  env
    .command("resume")
    .description("resume an environment")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => resume(context, environment));
  env
    .command("delete")
    .description("delete an environment and, some days later, its data")
    .argument("<environment>", ENVIRONMENT_ARGUMENT)
    .action((environment: string) => destroy(context, environment));
  env
    .command("undelete")
    .description("undo a deletion while the data exist")
    .argument("<environment>", ENVIRONMENT_ARGUMENT)
    .option("--rename <name>", "new name, when the old one is in use")
    .action((environment: string, flags: { rename?: string }) => undelete(context, environment, flags.rename));
}
