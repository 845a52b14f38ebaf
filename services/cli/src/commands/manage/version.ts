/** Why: which server answers, before anything else is asked of it. */
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { action, adminOf } from "./connect.js";

export function registerVersion(program: Command, context: Context): void {
  program
    .command("version")
    .helpGroup("Environments:")
    .description("show the version of the environment's server")
    .action(
      action(async () => {
        const { name, adminUrl, ingressUrl } = context.environment();
        const { version, ingress_endpoint } = await adminOf(context).version(context);
        const { output } = context;
        const ingress = ingress_endpoint ?? ingressUrl;
        output.result({ environment: name, adminUrl, ingressUrl: ingress, version }, () =>
          output.print(`${name}: ${version} at ${adminUrl}`),
        );
      }),
    );
}
