/** An empty list of a service that does not exist is a mistake of the caller, not an answer. */
import type { AdminClient } from "@perdure/admin-client";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";

type Kind = "VirtualObject" | "Workflow";

/** Fails the command when there is no such service, or when it is of none of these types. Called only where nothing was found. */
export async function requireService(
  context: Context,
  admin: AdminClient,
  service: string,
  kinds: readonly Kind[],
  what: string,
): Promise<void> {
  const { ty } = await admin.services.get(service, context);
  if (!(kinds as readonly string[]).includes(ty)) {
    const owners = kinds.map((kind) => (kind === "Workflow" ? "workflows" : "virtual objects")).join(" and ");
    context.fail(FAILED, `'${service}' has no ${what}: it is a ${ty}, and only ${owners} have some`);
  }
}
