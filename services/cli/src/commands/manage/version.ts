/** Reads the version of the server before other requests. */
import { VERSION } from "@perdure/telemetry/version";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { action, adminOf } from "./connect.js";

export function registerVersion(program: Command, context: Context): void {
  program
    .command("version")
    .helpGroup("Environments:")
    .description(
      "show the Restate release that the environment's server is compatible with, and the version of this command line",
    )
    .action(
      action(async () => {
        const { output } = context;
        const { name, adminUrl, ingressUrl } = context.environment();
        // Before the request: a version that is too old may be the reason why the server does not answer it.
        if (!output.isJson) output.print(`this command line: perdure ${VERSION}`);
        const { version, ingress_endpoint } = await adminOf(context).version(context);
        const ingress = ingress_endpoint ?? ingressUrl;
        output.result({ environment: name, adminUrl, ingressUrl: ingress, version, commandLine: VERSION }, () =>
          output.print(`${name}: compatible with Restate ${version}, at ${adminUrl}`),
        );
      }),
    );
}
