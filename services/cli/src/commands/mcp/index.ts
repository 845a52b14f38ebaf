/** `perdure mcp`: serves the management API of an environment to agents over the Model Context Protocol. */
import { stdin, stdout } from "node:process";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { pause } from "../../pause.js";
import { adminOf } from "../manage/connect.js";
import { DRAIN_MS_MAX, MESSAGE_BYTES_MAX } from "./limits.js";

export function register(program: Command, context: Context): void {
  program
    .command("mcp")
    .helpGroup("Services and invocations:")
    .description("serve the management API to AI agents over the Model Context Protocol, on stdin and stdout")
    .option("--allow-changes", "offer tools that plan and execute operations on invocations; by default the server only reads")
    .action(async ({ allowChanges }: { allowChanges?: boolean }) => await serve(context, allowChanges === true));
}

/** Resolves when the agent closes stdin. Only messages of the protocol are written to stdout. */
async function serve(context: Context, allowsChanges: boolean): Promise<void> {
  // Imported here, because no other command needs the protocol's library.
  const [{ StdioServerTransport }, { createToolServer }] = await Promise.all([
    import("@modelcontextprotocol/sdk/server/stdio.js"),
    import("./server.js"),
  ]);
  const { clock, signal } = context;
  const toolContext = { admin: adminOf(context), clock, environment: context.environment() };
  const { server, idle } = createToolServer(toolContext, allowsChanges, signal);
  const ended = Promise.withResolvers<void>();
  server.onclose = ended.resolve;
  stdin.once("end", ended.resolve);
  stdin.once("close", ended.resolve);
  signal.addEventListener("abort", () => ended.resolve(), { once: true });
  await server.connect(new StdioServerTransport(stdin, stdout, { maxBufferSize: MESSAGE_BYTES_MAX }));
  const access = allowsChanges ? "agents can plan and confirm changes" : "read-only";
  context.output.note(`MCP server of '${toolContext.environment.name}' on stdin and stdout, ${access}`);
  await ended.promise;
  signal.throwIfAborted();
  await Promise.race([idle(), pause(context, DRAIN_MS_MAX)]);
  await server.close();
}
