/** A tool of the protocol: its description for agents, and the function that executes it with checked arguments. */
import type { AdminClient } from "@perdure/admin-client";
import type { Clock } from "@perdure/base";
import { z } from "zod";
import { CliError, USAGE } from "../../errors.js";
import type { ToolResult } from "./results.js";

/** Management API, clock and environment that every tool uses. */
export interface ToolContext {
  readonly admin: AdminClient;
  readonly clock: Clock;
  /** The selected environment. */
  readonly environment: { readonly name: string; readonly adminUrl: string };
}

export interface ToolCall {
  /** Aborted when the agent cancels the call, and when the process ends. */
  readonly signal: AbortSignal;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly changes: "nothing" | "invocations";
  /** Throws `CliError` when the arguments are not valid. */
  execute(args: unknown, call: ToolCall): Promise<ToolResult>;
}

interface ToolDefinition<Input extends z.ZodObject> extends Omit<Tool, "inputSchema" | "execute"> {
  readonly input: Input;
  execute(args: z.output<Input>, call: ToolCall): Promise<ToolResult>;
}

export function tool<Input extends z.ZodObject>({ input, execute, ...texts }: ToolDefinition<Input>): Tool {
  return {
    ...texts,
    inputSchema: z.toJSONSchema(input, { io: "input" }),
    execute: async (args, call) => {
      const parsed = input.safeParse(args ?? {});
      if (!parsed.success)
        throw new CliError(USAGE, `The arguments of ${texts.name} are not valid: ${z.prettifyError(parsed.error)}`);
      return await execute(parsed.data, call);
    },
  };
}
