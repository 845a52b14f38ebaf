/**
 * Explains to a user without permission, before the attempt, which role is required. The rules themselves are in `@perdure/cloud`. Pure.
 */
import { type AccountPower, hasPower, type MemberRole, mayChangeMember, memberRoles } from "@perdure/cloud";

/** Why a member with this role may not do it; undefined when the role allows it. */
export function forbiddenFor(role: MemberRole, power: AccountPower): string | undefined {
  if (hasPower(role, power)) return undefined;
  const others = memberRoles.filter((one) => hasPower(one, power));
  return `Your role, ${role}, ${role === "viewer" ? "is read-only" : "does not allow this"}. Required role: ${alternatives(others)}.`;
}

/** Why the member may not give, change or remove a role; undefined when the role allows it. */
export function forbiddenToChange(role: MemberRole, of: MemberRole): string | undefined {
  return mayChangeMember(role, of)
    ? undefined
    : (forbiddenFor(role, "members") ?? "Only owners can add, change and remove owners.");
}

/** Why a member may not change or call anything in an environment; undefined when the role allows it. */
export function forbiddenInside(role: MemberRole): string | undefined {
  switch (role) {
    case "viewer":
      return "Your role, viewer, is read-only.";
    case "billing":
      return "Your role, billing, sees plan and usage only.";
    default:
      return undefined;
  }
}

export const ROLE_LABELS: Readonly<Record<MemberRole, string>> = {
  owner: "everything, with plan, billing and other owners",
  admin: "environments, keys and members",
  developer: "uses environments and creates their own API keys",
  viewer: "reads everything",
  billing: "sees plan and usage only",
};

/** `owner or admin` */
function alternatives(roles: readonly MemberRole[]): string {
  return roles.length < 2 ? roles.join("") : `${roles.slice(0, -1).join(", ")} or ${roles.at(-1)}`;
}
