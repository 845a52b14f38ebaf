/** Fails for a list of a service that does not exist: an empty answer would hide the caller's mistake. */
import type { AdminClient } from "@perdure/admin-client";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";

type Kind = "VirtualObject" | "Workflow";

/** Fails the command when there is no such service, or when it has none of these types. Call it only when a list is empty. */
export async function requireService(
  context: Context,
  admin: AdminClient,
  service: string,
  kinds: readonly Kind[],
  what: string,
): Promise<void> {
  const { ty } = await admin.services.get(service, context);
  if (!kinds.some((kind) => kind === ty)) {
    const owners = kinds.map((kind) => (kind === "Workflow" ? "workflows" : "virtual objects")).join(" and ");
    context.fail(FAILED, `'${service}' has no ${what}: it is a ${ty}, and only ${owners} have some`);
  }
}
