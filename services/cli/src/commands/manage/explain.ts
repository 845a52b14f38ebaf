/** `perdure explain`: what an invocation waits for, the invocation that really blocks it, and what an operator can do. */
import type { ExplanationView } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { action, adminOf } from "./connect.js";
import { invocationId } from "./values.js";

export function registerExplain(program: Command, context: Context): void {
  program
    .command("explain")
    .helpGroup("Services and invocations:")
    .argument("<id>", "of an invocation", invocationId)
    .description("explain what an invocation waits for, and what you can do")
    .action(action((id: string) => explain(context, id)));
}

async function explain(context: Context, id: string): Promise<void> {
  const explanation = await adminOf(context).invocations.explain(id, context);
  const { output } = context;
  output.result(explanation, () => {
    output.print(`${output.paint("bold", explanation.target ?? id)}  ${explanation.status}`);
    output.print(explanation.sentence);
    const { chain, chain_is_cut, blocked_by, deadlock, deployment, remedies } = explanation;
    chain.forEach((link, depth) => {
      const isBlocker = link.id === blocked_by?.id;
      const line = `${"  ".repeat(depth + 1)}└ ${link.relation.replaceAll("_", " ")}: ${link.target ?? "?"} ${link.id} (${link.status})`;
      output.print(isBlocker ? output.paint("yellow", `${line}  ← this one blocks`) : line);
    });
    if (chain_is_cut) output.print("  … and further");
    if (deadlock !== null) {
      output.print(
        output.paint(
          "red",
          `${deadlock.certain ? "Deadlock" : "Perhaps a deadlock"}: ${deadlock.invocations.join(" → ")} → ${deadlock.invocations[0]}`,
        ),
      );
    }
    if (deployment.state !== "found")
      output.print(output.paint("red", `Its deployment: ${deployment.state.replaceAll("_", " ")} (${deployment.id ?? "none"})`));
    if (remedies.length > 0) output.print("What you can do:");
    for (const remedy of remedies)
      output.print(`  ${commandOf(remedy.request) ?? remedy.request}  ${output.paint("dim", remedy.effect)}`);
  });
}

const VERBS: Readonly<Record<string, string>> = {
  cancel: "cancel",
  kill: "kill",
  pause: "pause",
  resume: "resume",
  purge: "purge",
  "restart-as-new": "restart",
};

/** The command for a request of the API; undefined when there is none. */
export function commandOf(request: ExplanationView["remedies"][number]["request"]): string | undefined {
  const invocation = /^PATCH \/invocations\/([^/?\s]+)\/([a-z-]+)(?:\?deployment=([^&\s]+))?$/.exec(request);
  const verb = VERBS[invocation?.[2] ?? ""];
  if (invocation !== null && verb !== undefined) {
    return `perdure invocations ${verb} ${invocation[1]}${invocation[3] === undefined ? "" : ` --deployment ${invocation[3]}`}`;
  }
  const queue = /^POST \/vqueues\/([^/\s]+)\/(pause|resume)$/.exec(request);
  return queue === null ? undefined : `perdure queues ${queue[2]} ${queue[1]}`;
}
