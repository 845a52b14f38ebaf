/**
 * The console of the cloud is tested against the cloud as it runs in production: tenancy with the built console, a gateway and a runtime
 * for each environment, every one a process of its own, on a real PostgreSQL. Users sign up by the same pages as in production.
 */
import type { AccountId, EnvironmentId, MemberRole, UserId } from "@perdure/cloud";
import { eventually } from "@perdure/conformance";
import { builtConsole, DevCloud, type RoleSettings } from "@perdure/dev-cluster";
import { CONSOLE_PASSWORD, ConsolePage, openTestTenancy, TEST_KEYS, type TestTenancy } from "@perdure/tenancy/testing";

/** A runtime starts in a few seconds; a busy machine takes its time. */
const ACTIVE_MS = 60_000;

export { CONSOLE_PASSWORD };

/** A user who has signed up and belongs to an account. */
export interface SignedInUser {
  readonly userId: UserId;
  readonly email: string;
  readonly accountId: AccountId;
  /** Cookies of the user, in Playwright's form. */
  readonly cookies: { readonly name: string; readonly value: string; readonly url: string }[];
  call(
    operation: string,
    body?: object,
  ): Promise<ConsolePage["request"] extends (...args: never) => Promise<infer A> ? A : never>;
}

export class CloudWorld implements AsyncDisposable {
  readonly origin: string;
  readonly testTenancy: TestTenancy;
  readonly #close: AsyncDisposableStack;
  #count = 0;

  private constructor(parts: Pick<CloudWorld, "origin" | "testTenancy">, close: AsyncDisposableStack) {
    this.origin = parts.origin;
    this.testTenancy = parts.testTenancy;
    this.#close = close;
  }

  /** `settings`: of tenancy, beside the usual ones. `tunnels`: with a relay, so that services are reached through tunnels. */
  static async start(settings: RoleSettings = {}, { tunnels = false } = {}): Promise<CloudWorld> {
    await using close = new AsyncDisposableStack();
    await builtConsole();
    const options = { hasRelay: tunnels, settings: { tenancy: settings }, keys: TEST_KEYS };
    const { apiUrl, addresses } = close.use(await DevCloud.start(options));
    const testTenancy = close.use(await openTestTenancy(addresses.postgresUrl));
    return new CloudWorld({ origin: apiUrl, testTenancy }, close.move());
  }

  /** A new user with an account of their own; or, with `role`, a new member of that one. */
  async user(name: string, plan: "free" | "team" = "team"): Promise<SignedInUser> {
    const email = `${name}${this.#count++}@perdure.test`;
    const page = await ConsolePage.of(this.origin, email);
    const { accounts } = (await page.post("/console/cloud/ListAccounts")).json as { accounts: { accountId: AccountId }[] };
    const accountId = accounts[0]?.accountId as AccountId;
    const { userId } = (await page.post("/console/cloud/GetUserIdentity")).json as { userId: UserId };
    await this.testTenancy.ports.database.tables.accounts.setPlan(accountId, plan);
    return this.#userOf(page, { userId, email, accountId });
  }

  /** A new user in the account of another. */
  async member(of: SignedInUser, role: MemberRole): Promise<SignedInUser> {
    const one = await this.user(role);
    const { accounts } = this.testTenancy.ports.database.tables;
    await accounts.addMember({ accountId: of.accountId, userId: one.userId, role, sinceMs: Date.now() });
    return { ...one, accountId: of.accountId, call: (operation, body) => one.call(operation, body) };
  }

  /** Resolves when it runs. */
  async environment(owner: SignedInUser, name: string): Promise<EnvironmentId> {
    const made = await owner.call("CreateEnvironment", { name, region: "us" });
    const { environmentId } = made.json as { environmentId: EnvironmentId };
    const isActive = async () => (await owner.call("DescribeEnvironment", { environmentId })).json.status === "ACTIVE";
    await eventually(`${name} is active`, isActive, ACTIVE_MS);
    return environmentId;
  }

  #userOf(page: ConsolePage, facts: Pick<SignedInUser, "userId" | "email" | "accountId">): SignedInUser {
    return {
      ...facts,
      cookies: [...page.browser.cookies].map(([name, value]) => ({ name, value, url: this.origin })),
      call: (operation, body = {}) => page.post(`/console/cloud/${facts.accountId}/${operation}`, body),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close.disposeAsync();
  }
}
