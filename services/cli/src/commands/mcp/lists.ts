/** Tools that list services, deployments, schedules and subscriptions, and check the server. */
import type { DeploymentSummary, ServiceMetadata } from "@perdure/admin-client";
import { z } from "zod";
import { LIST_BYTES_MAX, PARTITIONS_SHOWN_MAX, ROWS_MAX, SUBSCRIPTIONS_MAX } from "./limits.js";
import { errorText, fitting, shortened, type ToolResult } from "./results.js";
import { type Tool, type ToolCall, type ToolContext, tool } from "./tool.js";

const NOTHING = z.strictObject({});

export function listTools(context: ToolContext): readonly Tool[] {
  const { admin } = context;
  return [
    tool({
      name: "list_services",
      title: "List services",
      description: "Lists the services of the environment with type, revision, deployment and handlers.",
      changes: "nothing",
      input: NOTHING,
      execute: async (_args, call) => listOf("services", (await admin.services.list(call)).map(serviceView)),
    }),
    tool({
      name: "list_deployments",
      title: "List deployments",
      description: "Lists the registered deployments: address, services with revisions, version of the SDK.",
      changes: "nothing",
      input: NOTHING,
      execute: async (_args, call) => listOf("deployments", (await admin.deployments.list(call)).map(deploymentView)),
    }),
    tool({
      name: "list_schedules",
      title: "List schedules",
      description: "Lists schedules (cron) with their target, next and last time, and recent firings.",
      changes: "nothing",
      input: z.strictObject({
        service: z.string().min(1).optional().describe("Only schedules of this service"),
        status: z.string().min(1).optional().describe("Only schedules with this status, such as active or paused"),
      }),
      execute: async ({ service, status }, call) => {
        const query = { ...(service === undefined ? {} : { service }), ...(status === undefined ? {} : { status }) };
        return listOf("schedules", await admin.schedules.list(query, call));
      },
    }),
    tool({
      name: "list_subscriptions",
      title: "List subscriptions",
      description: "Lists subscriptions (Kafka topics that call handlers) with state, lag and the record that blocks them.",
      changes: "nothing",
      input: NOTHING,
      execute: async (_args, call) => await subscriptions(context, call),
    }),
    tool({
      name: "server_health",
      title: "Check the server",
      description: "Checks the environment's server: health, version, workers, and partitions without a leader.",
      changes: "nothing",
      input: NOTHING,
      execute: async (_args, call) => await health(context, call),
    }),
  ];
}

function listOf(name: string, values: readonly unknown[]): ToolResult {
  const { items, leftOut } = fitting(values, ROWS_MAX);
  return { [name]: items, left_out: leftOut };
}

/** Without JSON schemas and settings, which are long: `query_sql` has them. */
function serviceView({
  name,
  ty,
  revision,
  deployment_id,
  public: isPublic,
  documentation,
  handlers,
}: ServiceMetadata): ToolResult {
  return {
    name,
    type: ty,
    revision,
    deployment_id,
    public: isPublic,
    documentation,
    handlers: handlers.map((handler) => ({ name: handler.name, type: handler.ty, public: handler.public })),
  };
}

/** Headers by name only: their values may be secrets. */
function deploymentView({ additional_headers, ...deployment }: DeploymentSummary): ToolResult {
  return { ...deployment, additional_headers: Object.keys(additional_headers ?? {}) };
}

async function subscriptions({ admin }: ToolContext, call: ToolCall): Promise<ToolResult> {
  const all = await admin.subscriptions.list(call);
  const views = await Promise.all(
    all.slice(0, SUBSCRIPTIONS_MAX).map(async ({ id, source, sink }) => {
      const { state, paused, positions, handled_records, stuck_at, last_failure } = await admin.subscriptions.status(id, call);
      const lag = positions.reduce((sum, position) => sum + Math.max(0, position.lag), 0);
      return { id, source, sink, state, paused, lag, handled_records, stuck_at, last_failure };
    }),
  );
  const { items } = fitting(views, SUBSCRIPTIONS_MAX);
  return { subscriptions: items, left_out: all.length - items.length };
}

async function health({ admin, environment }: ToolContext, call: ToolCall): Promise<ToolResult> {
  const about = { environment: environment.name, admin_url: environment.adminUrl };
  try {
    await admin.health(call);
  } catch (cause) {
    call.signal.throwIfAborted();
    return { ...about, healthy: false, ...JSON.parse(errorText(cause)) };
  }
  const [{ version }, nodes, partitions] = await Promise.all([
    admin.version(call),
    admin.sql.query("SELECT * FROM sys_node ORDER BY id, address", call),
    admin.sql.query("SELECT * FROM sys_partition ORDER BY id", call),
  ]);
  const withoutLeader = partitions.filter((row) => row["status"] !== "leading");
  return {
    ...about,
    healthy: true,
    compatible_with_restate: version,
    nodes: fitting(nodes, ROWS_MAX, LIST_BYTES_MAX / 2).items,
    partition_count: partitions.length,
    partitions_without_leader_count: withoutLeader.length,
    partitions_without_leader: shortened(withoutLeader.slice(0, PARTITIONS_SHOWN_MAX)),
  };
}
