/** `perdure login`, `logout`, `whoami`. */
import type { Command } from "commander";
import { ENVIRONMENT_ARGUMENT } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { type LoginFlags, login } from "./login.js";
import { type LogoutFlags, logout } from "./logout.js";
import { token, whoami } from "./whoami.js";

export function register(program: Command, context: Context): void {
  program
    .command("login")
    .helpGroup("Cloud:")
    .description("log in to the cloud, for this and for the 'restate' command line")
    .option("--no-browser", "do not open a browser; show the link only")
    .option("--refresh", "renew the present login without a browser")
    .option(
      "--restate-home [folder]",
      "keep profiles in a folder of their own, for RESTATE_CLI_CONFIG_HOME (default ~/.config/perdure-restate)",
    )
    .option("--name <profile>", "with PERDURE_API_KEY: the profile that will hold the key")
    .addHelpText(
      "after",
      "\nWithout a browser (CI), set PERDURE_API_KEY and PERDURE_ADMIN_URL (or --env): the key is checked and stored in a profile.",
    )
    .action((flags: LoginFlags) => login(context, flags));
  program
    .command("logout")
    .helpGroup("Cloud:")
    .description("log out here and in the cloud")
    .option("--all", "log out of every cloud")
    .action((flags: LogoutFlags) => logout(context, flags));
  program
    .command("whoami")
    .helpGroup("Cloud:")
    .description("show who is logged in, and the environment in use")
    .action(() => whoami(context));
  program
    .command("token")
    .helpGroup("Cloud:")
    .description("print a token for 'Authorization: Bearer' to an environment, renewed when needed")
    .argument("[environment]", ENVIRONMENT_ARGUMENT)
    .action((environment: string | undefined) => token(context, environment));
}
