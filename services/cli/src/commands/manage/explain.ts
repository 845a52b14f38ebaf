/** `perdure explain`: what an invocation waits for, the invocation that really blocks it, and what an operator can do. */
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { action, adminOf } from "./connect.js";
import { commandOf } from "./remedy-command.js";
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
