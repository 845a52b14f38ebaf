/** Accounts, their plans, and their members. */
import type { AccountId, AccountPlan, EnvironmentId, MemberRole, UserId } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

interface AccountRecord {
  readonly id: AccountId;
  readonly name: string;
  readonly description: string | undefined;
  readonly planId: string;
  readonly createdAtMs: number;
}

interface MemberRecord {
  readonly accountId: AccountId;
  readonly userId: UserId;
  readonly role: MemberRole;
  readonly sinceMs: number;
}

interface MemberWithUser extends MemberRecord {
  readonly email: string;
  readonly name: string | undefined;
  /** The last sign-in, or the last use of a device that stays signed in; undefined when that is long ago. */
  readonly lastActiveAtMs: number | undefined;
}

const ACCOUNT = `a.id, a.name, a.description, a.plan_id AS "planId", a.created_at_ms AS "createdAtMs"`;
const MEMBER = `m.account_id AS "accountId", m.user_id AS "userId", m.role, m.since_ms AS "sinceMs"`;
const PLAN = `p.id, p.name, accounts_per_owner_max AS "accountsPerOwnerMax",
  environments_per_account_max AS "environmentsPerAccountMax", api_keys_max AS "apiKeysMax", members_max AS "membersMax",
  self_service AS "isSelfService",
  actions_per_month AS "actionsPerMonth", traffic_bytes_per_month AS "trafficBytesPerMonth", idle_suspend_ms AS "idleSuspendMs",
  json_build_object(
    'ingressRate', json_build_object('perSecond', ingress_per_second, 'burst', ingress_burst),
    'adminRate', json_build_object('perSecond', admin_per_second, 'burst', admin_burst),
    'bodyBytesMax', body_bytes_max, 'concurrentInvocationsMax', concurrent_invocations_max, 'storedBytesMax', stored_bytes_max,
    'retentionMsMax', retention_ms_max, 'deploymentsMax', deployments_max, 'servicesMax', services_max,
    'subscriptionsMax', subscriptions_max, 'tunnelNamesMax', tunnel_names_max, 'tunnelConnectionsMax', tunnel_connections_max,
    'memoryMibMax', memory_mib_max, 'plainHttpAllowed', plain_http_allowed) AS limits`;

export class AccountsTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  async insert({ id, name, description, planId, createdAtMs }: AccountRecord): Promise<void> {
    const values = [id, name, description, planId, createdAtMs];
    await this.#session.write("INSERT INTO perdure_accounts VALUES ($1, $2, $3, $4, $5)", values);
  }

  get(id: AccountId): Promise<AccountRecord | undefined> {
    return this.#session.row(`SELECT ${ACCOUNT} FROM perdure_accounts a WHERE id = $1`, [id]);
  }

  /** Other transactions that change members, environments or keys of the account wait until this transaction ends. */
  async lock(id: AccountId): Promise<void> {
    await this.#session.row("SELECT id FROM perdure_accounts WHERE id = $1 FOR UPDATE", [id]);
  }

  async update(id: AccountId, name: string, description: string | undefined): Promise<void> {
    const values = [id, name, description];
    await this.#session.write("UPDATE perdure_accounts SET name = $2, description = $3 WHERE id = $1", values);
  }

  /** False when there is no such plan. Runtimes of the account are notified of their new limits. */
  async setPlan(id: AccountId, planId: string): Promise<boolean> {
    const text = "UPDATE perdure_accounts SET plan_id = $2 WHERE id = $1 AND EXISTS (SELECT FROM perdure_plans WHERE id = $2)";
    if ((await this.#session.write(text, [id, planId])) === 0) return false;
    const renewed = await this.#session.rows<{ id: EnvironmentId }>(
      "UPDATE perdure_environments SET generation = generation + 1 WHERE account_id = $1 AND status <> 'DELETED' RETURNING id",
      [id],
    );
    for (const environment of renewed) await this.#session.notify({ kind: "environment", id: environment.id });
    return true;
  }

  /** Accounts that a user is a member of, with the role; oldest first. */
  ofUser(userId: UserId): Promise<(AccountRecord & { readonly role: MemberRole })[]> {
    const text = `SELECT ${ACCOUNT}, m.role FROM perdure_members m JOIN perdure_accounts a ON a.id = m.account_id
      WHERE m.user_id = $1 ORDER BY a.created_at_ms, a.id`;
    return this.#session.rows(text, [userId]);
  }

  plan(accountId: AccountId): Promise<AccountPlan | undefined> {
    const text = `SELECT ${PLAN} FROM perdure_accounts a JOIN perdure_plans p ON p.id = a.plan_id WHERE a.id = $1`;
    return this.#session.row(text, [accountId]);
  }

  /** The plan of each of these accounts. */
  async planIds(ids: readonly AccountId[]): Promise<ReadonlyMap<AccountId, string>> {
    const text = `SELECT id, plan_id AS "planId" FROM perdure_accounts WHERE id = ANY ($1)`;
    const rows = await this.#session.rows<{ id: AccountId; planId: string }>(text, [ids]);
    return new Map(rows.map(({ id, planId }) => [id, planId]));
  }

  plans(): Promise<AccountPlan[]> {
    return this.#session.rows(`SELECT ${PLAN} FROM perdure_plans p ORDER BY p.id`);
  }

  /** Returns the number of accounts that a user owns, and the number that the best plan among them (or `free`) allows. */
  async owned(userId: UserId): Promise<{ readonly count: number; readonly max: number }> {
    const text = `SELECT count(*) AS count, greatest(max(p.accounts_per_owner_max),
        (SELECT accounts_per_owner_max FROM perdure_plans WHERE id = 'free')) AS max
      FROM perdure_members m JOIN perdure_accounts a ON a.id = m.account_id JOIN perdure_plans p ON p.id = a.plan_id
      WHERE m.user_id = $1 AND m.role = 'owner'`;
    return (await this.#session.row(text, [userId])) ?? { count: 0, max: 0 };
  }

  // ── members ────────────────────────────────────────────────────────────────────────────────────

  /** Undefined for users who are not members, whether the account exists or not. */
  async roleOf(accountId: AccountId, userId: UserId): Promise<MemberRole | undefined> {
    const text = "SELECT role FROM perdure_members WHERE account_id = $1 AND user_id = $2";
    return (await this.#session.row<{ role: MemberRole }>(text, [accountId, userId]))?.role;
  }

  members(accountId: AccountId): Promise<MemberWithUser[]> {
    const active = `(SELECT greatest(max(s.created_at_ms), max(t.created_at_ms)) FROM perdure_sessions s
      LEFT JOIN perdure_refresh_tokens t ON t.session_id = s.id WHERE s.user_id = m.user_id)`;
    const text = `SELECT ${MEMBER}, u.email, u.name, ${active} AS "lastActiveAtMs" FROM perdure_members m JOIN perdure_users u ON u.id = m.user_id
      WHERE m.account_id = $1 ORDER BY m.since_ms, m.user_id`;
    return this.#session.rows(text, [accountId]);
  }

  /** Addresses of those with one of these roles. */
  async addressesOf(accountId: AccountId, roles: readonly MemberRole[]): Promise<readonly string[]> {
    const text = `SELECT u.email FROM perdure_members m JOIN perdure_users u ON u.id = m.user_id
      WHERE m.account_id = $1 AND m.role = ANY ($2) ORDER BY m.since_ms, m.user_id`;
    return (await this.#session.rows<{ email: string }>(text, [accountId, roles])).map(({ email }) => email);
  }

  /** Throws `AlreadyThere` when the user is a member. */
  async addMember({ accountId, userId, role, sinceMs }: MemberRecord): Promise<void> {
    const values = [accountId, userId, role, sinceMs];
    await this.#session.write("INSERT INTO perdure_members VALUES ($1, $2, $3, $4)", values);
    await this.#session.notify({ kind: "member", id: userId, accountId });
  }

  /** `lastOwner`: the account would have no owner afterwards, so nothing was changed. Locks the account. */
  async setRole(accountId: AccountId, userId: UserId, role: MemberRole): Promise<"changed" | "lastOwner"> {
    await this.lock(accountId);
    if (role !== "owner" && (await this.#isLastOwner(accountId, userId))) return "lastOwner";
    const text = "UPDATE perdure_members SET role = $3 WHERE account_id = $1 AND user_id = $2";
    await this.#session.write(text, [accountId, userId, role]);
    await this.#session.notify({ kind: "member", id: userId, accountId });
    return "changed";
  }

  /** Removes a member; see `setRole`. */
  async removeMember(accountId: AccountId, userId: UserId): Promise<"removed" | "lastOwner"> {
    await this.lock(accountId);
    if (await this.#isLastOwner(accountId, userId)) return "lastOwner";
    await this.#session.write("DELETE FROM perdure_members WHERE account_id = $1 AND user_id = $2", [accountId, userId]);
    await this.#session.notify({ kind: "member", id: userId, accountId });
    return "removed";
  }

  async #isLastOwner(accountId: AccountId, userId: UserId): Promise<boolean> {
    const text = "SELECT user_id AS id FROM perdure_members WHERE account_id = $1 AND role = 'owner' LIMIT 2";
    const owners = await this.#session.rows<{ id: UserId }>(text, [accountId]);
    return owners.length === 1 && owners[0]?.id === userId;
  }
}
