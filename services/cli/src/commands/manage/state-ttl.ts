/** `perdure state ttl`: when the state of an object expires, and a time to live of its own. */
import { AdminApiError, type AdminClient, type KeyExpiry } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { USAGE } from "../../errors.js";
import { action, adminOf } from "./connect.js";
import { requireService } from "./require-service.js";
import { durationText } from "./values.js";

interface TtlFlags {
  readonly set?: string;
  readonly unset?: boolean;
}

export function registerStateTtl(state: Command, context: Context): void {
  state
    .command("ttl")
    .argument("<service>")
    .argument("<key>")
    .description("show when the state of one object expires, or give it a time to live of its own")
    .option("--set <duration>", "from now on, until the state has expired; 1s to 3650d", durationText)
    .option("--unset", "that of the service again")
    .action(action((service: string, key: string, flags: TtlFlags) => ttl(context, service, key, flags)));
}

async function ttl(context: Context, service: string, key: string, { set, unset }: TtlFlags): Promise<void> {
  if (set !== undefined && unset === true) context.fail(USAGE, "Give either --set or --unset");
  const { output } = context;
  const admin = adminOf(context);
  if (set !== undefined || unset === true) await admin.state.setTtl(service, key, set ?? null, context);
  const expiry = await admin.state.expiry(service, key, context);
  if (expiry === undefined) await requireService(context, admin, service, ["VirtualObject"], "state with a time to live");
  output.result({ service, key, expiry: expiry ?? null }, () => {
    if (expiry === undefined) return output.note(`The state of ${service}/${key} does not expire.`);
    output.facts([
      ["Time to live", `${expiry.ttl}, of the ${expiry.ttl_source}`],
      ["Changed", expiry.changed_at],
      ["Expires", expiry.expires_at],
    ]);
  });
}

/** Undefined also from a server that has no such table. */
export async function expiryOf(
  context: Context,
  admin: AdminClient,
  service: string,
  key: string,
): Promise<KeyExpiry | undefined> {
  try {
    return await admin.state.expiry(service, key, context);
  } catch (cause) {
    if (cause instanceof AdminApiError) return undefined;
    throw cause;
  }
}
