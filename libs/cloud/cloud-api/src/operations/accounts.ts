/** Operations of a user, and of an account as a whole. */
import { createHash } from "node:crypto";
import { type AccountPlan, hasPower, newAccountId, parseAccountId } from "@perdure/cloud";
import { notAMember, PlanLimitError, TenancyApiError } from "@perdure/cloud-requests";
import { type AccountHandlers, type OperationCall, seconds, type UserHandlers } from "../operation.js";

/** Plan of new accounts. */
const FIRST_PLAN = "free";

export const userHandlers: UserHandlers = {
  async GetUserIdentity(call) {
    const user = await theUser(call);
    return { userId: user.id, email: user.email, name: user.name };
  },

  async ListAccounts(call) {
    const accounts = await call.ports.database.tables.accounts.ofUser(call.userId);
    return {
      accounts: accounts.map(({ id, name, description, planId, role, createdAtMs }) => ({
        accountId: id,
        name,
        description,
        planId,
        role,
        createdAt: seconds(createdAtMs),
      })),
    };
  },

  async CreateAccount(call, { name, description }) {
    const { database, random } = call.ports;
    const user = await theUser(call);
    const id = newAccountId(random);
    await database.change(async (tables) => {
      // One at a time, so that two concurrent calls cannot exceed the bound together.
      await tables.session.row("SELECT id FROM perdure_users WHERE id = $1 FOR UPDATE", [call.userId]);
      const { count, max } = await tables.accounts.owned(call.userId);
      if (count >= max) throw new PlanLimitError("accounts", `Your plan allows ${max} account${max === 1 ? "" : "s"}`);
      const account = { id, name: name ?? user.name ?? user.email, description, planId: FIRST_PLAN, createdAtMs: call.nowMs };
      await tables.accounts.insert(account);
      await tables.accounts.addMember({ accountId: id, userId: call.userId, role: "owner", sinceMs: call.nowMs });
      await call.audit(tables, { action: "account.create", accountId: id, details: { name: account.name } });
    });
    return { accountId: id };
  },

  async UpdateAccount(call, request) {
    const { database } = call.ports;
    const accountId = parseAccountId(request.accountId);
    const role = accountId === undefined ? undefined : await database.tables.accounts.roleOf(accountId, call.userId);
    if (accountId === undefined || role === undefined) throw notAMember();
    if (!hasPower(role, "account")) throw new TenancyApiError("PERD0403", `The role '${role}' does not allow this`);
    return await database.change(async (tables) => {
      await tables.accounts.lock(accountId);
      const account = await tables.accounts.get(accountId);
      if (account === undefined) throw notAMember();
      const name = request.name ?? account.name;
      const description = request.description ?? account.description;
      await tables.accounts.update(accountId, name, description);
      await call.audit(tables, { action: "account.update", accountId, details: { name, description } });
      return { accountId, name, description };
    });
  },

  async AcceptInvitation(call, { token }) {
    const user = await theUser(call);
    const tokenHash = createHash("sha256").update(token).digest();
    return await call.ports.database.change(async (tables) => {
      const invitation = await tables.invitations.accept(tokenHash, user.email, user.id, call.nowMs);
      // One answer for used, expired, withdrawn, foreign and unknown invitations, so that it reveals nothing.
      if (invitation === undefined) throw new TenancyApiError("PERD0404", "Unknown or expired invitation");
      const { accountId, role } = invitation;
      if ((await tables.accounts.roleOf(accountId, user.id)) !== undefined) {
        throw new TenancyApiError("PERD0409", "You are a member of this account already");
      }
      await tables.accounts.lock(accountId);
      const max = (await tables.accounts.plan(accountId))?.membersMax ?? 0;
      if ((await tables.accounts.members(accountId)).length >= max) {
        throw new TenancyApiError("PERD0201", `The plan of this account allows ${max} members: its owner can change the plan`);
      }
      await tables.accounts.addMember({ accountId, userId: user.id, role, sinceMs: call.nowMs });
      await call.audit(tables, {
        action: "member.join",
        accountId,
        target: user.id,
        details: { role, invitation: invitation.id },
      });
      return { accountId, role };
    });
  },
};

export const accountHandlers: Pick<AccountHandlers, "DescribeAccount" | "ChangePlan"> = {
  ChangePlan: {
    needs: "account",
    async handle(call, { planId }) {
      const { accountId, ports } = call;
      await ports.database.change(async (tables) => {
        await tables.accounts.lock(accountId);
        const [from, plans] = [await tables.accounts.plan(accountId), await tables.accounts.plans()];
        const to = plans.find(({ id }) => id === planId);
        if (to === undefined) throw new TenancyApiError("PERD0404", "There is no such plan");
        if (to.id === from?.id) return;
        if (!to.isSelfService) throw new TenancyApiError("PERD0403", "Only the operator assigns this plan: contact them");
        const present = [
          ["environments", await tables.environments.countOf(accountId), to.environmentsPerAccountMax],
          ["members", (await tables.accounts.members(accountId)).length, to.membersMax],
        ] as const;
        for (const [what, count, max] of present) {
          if (count > max) throw new PlanLimitError(what, `This plan allows ${max} ${what}, and there are ${count}`);
        }
        await tables.accounts.setPlan(accountId, to.id);
        await call.audit(tables, { action: "account.change-plan", target: to.id, details: { from: from?.id, to: to.id } });
      });
      return { accountId, planId };
    },
  },

  DescribeAccount: {
    needs: "usage",
    async handle({ ports, options, accountId, role }) {
      const { accounts } = ports.database.tables;
      const [account, plan, plans] = await Promise.all([accounts.get(accountId), accounts.plan(accountId), accounts.plans()]);
      if (account === undefined || plan === undefined) throw notAMember();
      return {
        accountId,
        name: account.name,
        description: account.description,
        planId: plan.id,
        role,
        createdAt: seconds(account.createdAtMs),
        plan: planView(plan),
        plans: plans.filter(({ isSelfService }) => isSelfService).map(planView),
        regions: [...options.regions],
      };
    },
  },
};

function planView({ id, name, limits, ...quotas }: AccountPlan) {
  return { planId: id, name, limits: { ...quotas, ...limits } };
}

async function theUser(call: OperationCall) {
  const user = await call.ports.database.tables.users.get(call.userId);
  if (user === undefined) throw new TenancyApiError("PERD0401", "This user does not exist any more");
  return user;
}
