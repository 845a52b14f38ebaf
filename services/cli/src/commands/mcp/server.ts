/** The server of the Model Context Protocol: lists the tools, executes calls, and converts errors into results that agents understand. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { VERSION } from "@perdure/telemetry/version";
import { CliError, USAGE } from "../../errors.js";
import { invocationTools } from "./invocation-tools.js";
import { listTools } from "./lists.js";
import { changeTools } from "./plans.js";
import { errorText, resultText } from "./results.js";
import type { Tool, ToolCall, ToolContext } from "./tool.js";

const INSTRUCTIONS =
  "Tools for one environment of Perdure, a durable execution platform. To find out why something does not continue: " +
  "list_invocations with stuck_for or statuses, then explain_invocation, then invocation_timeline. " +
  "Results are bounded: left_out, more and next_step say what is missing.";

interface McpToolServer {
  readonly server: Server;
  /** Resolves when no call is in progress. */
  idle(): Promise<void>;
}

/** `allowsChanges`: whether the tools that change invocations exist. `signal`: ends all calls. */
export function createToolServer(context: ToolContext, allowsChanges: boolean, signal: AbortSignal): McpToolServer {
  const changing = changeTools(context);
  const tools = [...listTools(context), ...invocationTools(context), ...(allowsChanges ? changing : [])];
  const server = new Server(
    { name: "perdure", title: `Perdure: ${context.environment.name}`, version: VERSION },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(descriptionOf) }));
  const callsInProgress = new Set<Promise<CallToolResult>>();
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const found = tools.find(({ name }) => name === params.name) ?? refusing(params.name, changing);
    const running = execute(found, params.arguments, { signal: AbortSignal.any([extra.signal, signal]) });
    callsInProgress.add(running);
    try {
      return await running;
    } finally {
      callsInProgress.delete(running);
    }
  });
  return {
    server,
    idle: async () => {
      await Promise.allSettled(callsInProgress);
    },
  };
}

function descriptionOf({ name, title, description, inputSchema, changes }: Tool) {
  const isReading = changes === "nothing";
  return {
    name,
    title,
    description,
    inputSchema: { ...inputSchema, type: "object" as const },
    annotations: { title, readOnlyHint: isReading, destructiveHint: !isReading, idempotentHint: isReading, openWorldHint: false },
  };
}

async function execute(found: Tool, args: unknown, call: ToolCall): Promise<CallToolResult> {
  try {
    return { content: [{ type: "text", text: resultText(await found.execute(args, call)) }] };
  } catch (cause) {
    return { content: [{ type: "text", text: errorText(cause) }], isError: true };
  }
}

/** A tool that is not allowed refuses with the flag that allows it. Throws when there is no tool of this name. */
function refusing(name: string, changing: readonly Tool[]): Tool {
  const found = changing.find((one) => one.name === name);
  if (found === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool '${name}'`);
  const refusal = new CliError(
    USAGE,
    `${name} is not allowed: this server only reads`,
    "Start it with: perdure mcp --allow-changes",
  );
  return { ...found, execute: () => Promise.reject(refusal) };
}
