/** Members of an account and invitations to it (cloud.md §4.6). */
import { createHash } from "node:crypto";
import { hasPower, type MemberRole, mayChangeMember, randomBase62, type UserId } from "@perdure/cloud";
import { PlanLimitError, TenancyApiError } from "@perdure/cloud-requests";
import { subjectOf } from "@perdure/identity";
import { invitationText, putInvitationMail } from "@perdure/mail";
import type { ApiKeyRecord, TenancyTables } from "@perdure/postgres";
import { INVITATION_MS, INVITATIONS_MAX } from "../limits.js";
import { type AccountCall, type AccountHandlers, OK, seconds } from "../operation.js";
import { keyView } from "./keys.js";

type Members = Pick<AccountHandlers, "ListMembers" | "InviteMember" | "WithdrawInvitation" | "UpdateMember" | "RemoveMember">;

const DAY_MS = 86_400_000;

/** Other members need not know the hour, which may be that of work in another account. */
const dayOf = (atMs: number): number => Math.floor(atMs / DAY_MS) * DAY_MS;

export const memberHandlers: Members = {
  ListMembers: {
    needs: "view",
    async handle({ ports, accountId, nowMs }) {
      const { accounts, invitations } = ports.database.tables;
      const [members, open] = await Promise.all([accounts.members(accountId), invitations.open(accountId, nowMs)]);
      return {
        members: members.map(({ userId, email, name, role, sinceMs, lastActiveAtMs }) => ({
          userId,
          email,
          name,
          role,
          since: seconds(sinceMs),
          lastActiveAt: lastActiveAtMs === undefined ? undefined : seconds(dayOf(lastActiveAtMs)),
        })),
        invitations: open.map(({ id, email, role, expiresAtMs }) => ({
          invitationId: id,
          email,
          role,
          expiresAt: seconds(expiresAtMs),
        })),
      };
    },
  },

  InviteMember: {
    needs: "members",
    async handle(call, { email, role }) {
      const { ports, accountId, nowMs, userId } = call;
      if (!mayChangeMember(call.role, role)) throw onlyOwners();
      if (givesAccess(role)) call.needsConfirmation();
      const recipient = subjectOf(email.toLowerCase());
      await ports.rates.take("invitation of account to recipient", `${accountId} ${recipient}`);
      await ports.rates.take("invitation to recipient", recipient);
      await ports.rates.take("invitation of account", accountId);
      const id = `invitation_${randomBase62(23, ports.random)}`;
      const token = `inv_${randomBase62(43, ports.random)}`;
      const expiresAtMs = nowMs + INVITATION_MS;
      await ports.database.change(async (tables) => {
        await tables.accounts.lock(accountId);
        const user = await tables.users.ofEmail(email);
        if (user !== undefined && (await tables.accounts.roleOf(accountId, user.id)) !== undefined) {
          throw new TenancyApiError("PERD0409", "This user is a member already");
        }
        await tables.invitations.withdraw(accountId, email, nowMs); // Only the newest invitation is valid.
        const [account, plan] = [await tables.accounts.get(accountId), await tables.accounts.plan(accountId)];
        const open = (await tables.invitations.open(accountId, nowMs)).length;
        if (open >= INVITATIONS_MAX) throw new PlanLimitError("members", `There are ${INVITATIONS_MAX} open invitations already`);
        const max = plan?.membersMax ?? 0;
        if ((await tables.accounts.members(accountId)).length + open >= max) {
          throw new PlanLimitError("members", `Your plan allows ${max} members per account, open invitations included`);
        }
        const invitation = { id, accountId, email, role, invitedBy: userId, createdAtMs: nowMs, expiresAtMs };
        await tables.invitations.insert(invitation, createHash("sha256").update(token).digest());
        await call.audit(tables, { action: "member.invite", target: email, details: { role, invitation: id } });
        const inviter = (await tables.users.get(userId))?.email ?? "A member";
        const link = `${ports.addresses.consoleUrl}/invitation?token=${token}`;
        await putInvitationMail(ports, tables, { to: email, ...invitationText(account?.name ?? accountId, inviter, role, link) });
      });
      return { invitationId: id, token, expiresAt: seconds(expiresAtMs) };
    },
  },

  WithdrawInvitation: {
    needs: "members",
    async handle(call, { email }) {
      await call.ports.database.change(async (tables) => {
        if ((await tables.invitations.withdraw(call.accountId, email, call.nowMs)) === 0) {
          throw new TenancyApiError("PERD0404", "There is no open invitation for this address");
        }
        await call.audit(tables, { action: "member.withdraw-invitation", target: email });
      });
      return OK;
    },
  },

  UpdateMember: {
    needs: "members",
    async handle(call, { userId, role, keepApiKeys, dryRun }) {
      return await call.ports.database.change(async (tables) => {
        const from = await roleToChange(call, tables, userId);
        if (!mayChangeMember(call.role, role)) throw onlyOwners();
        const keys = givesAccess(role) ? [] : await keysMadeBy(call, tables, userId);
        if (dryRun === true) return answer(keys, false);
        if (from === "owner" || givesAccess(role)) call.needsConfirmation();
        if ((await tables.accounts.setRole(call.accountId, userId, role)) === "lastOwner") throw lastOwner();
        await withdrawTheirs(call, tables, userId, role);
        if (keepApiKeys !== true) await deleteKeys(call, tables, userId, keys);
        const details = { from, to: role, apiKeys: keys.map(({ id }) => id), keptApiKeys: keepApiKeys === true };
        await call.audit(tables, { action: "member.update", target: userId, details });
        return answer(keys, keepApiKeys !== true);
      });
    },
  },

  RemoveMember: {
    /** Every member of an account may leave it. */
    needs: "usage",
    async handle(call, { userId, keepApiKeys, dryRun }) {
      return await call.ports.database.change(async (tables) => {
        const role = await roleToChange(call, tables, userId);
        const keys = await keysMadeBy(call, tables, userId);
        if (dryRun === true) return answer(keys, false);
        if (role === "owner") call.needsConfirmation();
        if ((await tables.accounts.removeMember(call.accountId, userId)) === "lastOwner") throw lastOwner();
        await withdrawTheirs(call, tables, userId, undefined);
        if (keepApiKeys !== true) await deleteKeys(call, tables, userId, keys);
        const details = { role, apiKeys: keys.map(({ id }) => id), keptApiKeys: keepApiKeys === true };
        await call.audit(tables, { action: "member.remove", target: userId, details });
        return answer(keys, keepApiKeys !== true);
      });
    },
  },
};

/** A key opens its environment for any holder: so keys of members that could not make them any more are listed, and deleted (T14). */
async function keysMadeBy({ accountId, nowMs }: AccountCall, tables: TenancyTables, userId: UserId) {
  return await tables.apiKeys.madeBy(accountId, userId, nowMs);
}

async function deleteKeys(
  call: AccountCall,
  tables: TenancyTables,
  userId: UserId,
  keys: readonly ApiKeyRecord[],
): Promise<void> {
  for (const { id, environmentId } of keys) {
    await tables.apiKeys.delete(id, environmentId, call.nowMs);
    await call.audit(tables, { action: "key.delete", environmentId, target: id, details: { of: userId } });
  }
}

function answer(keys: readonly ApiKeyRecord[], areDeleted: boolean) {
  return { ...OK, apiKeys: keys.map(keyView), apiKeysDeleted: areDeleted };
}

/** Whether the role allows more than reading: such a member can make keys. */
function givesAccess(role: MemberRole): boolean {
  return hasPower(role, "ownKeys");
}

async function roleToChange(call: AccountCall, tables: TenancyTables, userId: UserId) {
  await tables.accounts.lock(call.accountId);
  const role = await tables.accounts.roleOf(call.accountId, userId);
  const isSelf = userId === call.userId;
  if (!isSelf && !mayChangeMember(call.role, role ?? "viewer")) throw onlyOwners();
  if (role === undefined) throw new TenancyApiError("PERD0404", "Unknown member");
  return role;
}

/**
 * Withdraws invitations that the member could not make any more: the member has read them, and could return by one to another address
 * (T14). `role`: the member's present role.
 */
async function withdrawTheirs(call: AccountCall, tables: TenancyTables, userId: UserId, role: MemberRole | undefined) {
  for (const open of await tables.invitations.open(call.accountId, call.nowMs)) {
    if (open.invitedBy !== userId || (role !== undefined && mayChangeMember(role, open.role))) continue;
    await tables.invitations.withdraw(call.accountId, open.email, call.nowMs);
    await call.audit(tables, { action: "member.withdraw-invitation", target: open.email, details: { of: userId } });
  }
}

function onlyOwners(): TenancyApiError {
  return new TenancyApiError("PERD0403", "Your role does not allow this: admins manage members, and only owners manage owners");
}

function lastOwner(): TenancyApiError {
  return new TenancyApiError("PERD0409", "An account needs an owner: make another member an owner first");
}
