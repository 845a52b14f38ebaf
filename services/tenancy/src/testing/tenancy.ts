/** Tenancy on a real database with a clock that stands still, for the suites of this package and of packages that call it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, type Random, SummaryLog, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { type AccountId, type EnvironmentId, newUserId, type Tenancy, type UserId } from "@perdure/cloud";
import type { ForwardingKeys } from "@perdure/cloud/forwarding";
import type { TenancyOptions, TenancyPorts } from "@perdure/cloud-api";
import { CallRates, createCloudApi } from "@perdure/cloud-api";
import { CloudClient } from "@perdure/cloud-client";
import type { ConsoleHost } from "@perdure/console-host";
import { consoleRoutes, createGatewayLink, type GatewayAddress, homeRoutes } from "@perdure/console-proxy";
import { createEnvironmentKeys, KeyRing, openAccessTokens } from "@perdure/credentials";
import { createAddresses, createTenancy } from "@perdure/environments";
import { type RateMaxima, Rates } from "@perdure/identity";
import { openTenancyDatabase } from "@perdure/postgres";
import { type LoginOptions, openLogin } from "@perdure/sign-in";

export const TEST_KEYS = `1 ${Buffer.alloc(32, 7).toString("base64")}`;
export const TEST_ISSUER = "https://api.us.perdure.test";

const NO_OTHER_LOGIN: LoginOptions = { verifiesEmail: false, oidc: undefined };

/** Wall time that a test moves; timers run in real time. */
export class MovableClock implements Clock {
  aheadMs = 0;

  nowMs(): number {
    return systemClock.nowMs() + this.aheadMs;
  }
  monotonicMs(): number {
    return systemClock.monotonicMs() + this.aheadMs;
  }
  setTimer(delayMs: number, fire: () => void) {
    return systemClock.setTimer(delayMs, fire);
  }
}

export interface TestTenancy extends AsyncDisposable {
  readonly ports: TenancyPorts;
  readonly tenancy: Tenancy;
  readonly clock: MovableClock;
  /** Origin of the Cloud API. */
  readonly origin: string;
  /** Environments that `onDemand` was called for, in order. */
  readonly demandedIds: readonly EnvironmentId[];
  /** A user who is logged in. */
  user(email?: string): Promise<TestUser>;
}

export interface TestUser {
  readonly id: UserId;
  readonly email: string;
  readonly token: string;
  readonly client: CloudClient;
  /** Makes an account that this user owns. */
  account(plan?: "free" | "team"): Promise<AccountId>;
}

export interface TestTenancyOptions {
  readonly options?: Partial<TenancyOptions>;
  readonly login?: Partial<LoginOptions>;
  readonly issuer?: string;
  /** Port to listen on; a free one when absent. */
  readonly port?: number;
  /** Environments by ports of this machine rather than host names; a number is the first of them. */
  readonly withPorts?: boolean | number;
  readonly readLogs?: TenancyPorts["readLogs"];
  readonly rates?: RateMaxima;
  /** Content of the file of keys. */
  readonly keys?: string;
  readonly console?: {
    readonly url?: string;
    readonly host?: ConsoleHost | undefined;
    readonly gateway?: GatewayAddress;
    readonly gatewayAuthority?: string;
    readonly forwarding?: ForwardingKeys;
  };
}

let users = 0;

export async function openTestTenancy(
  databaseUrl: string,
  {
    options,
    login,
    issuer = TEST_ISSUER,
    port = 0,
    withPorts,
    readLogs,
    rates,
    keys = TEST_KEYS,
    console: consoleOptions = {},
  }: TestTenancyOptions = {},
): Promise<TestTenancy> {
  const { url: consoleUrl = issuer, host: page, gateway: gatewayAddress, gatewayAuthority, forwarding } = consoleOptions;
  const logger = silentLogger;
  const random: Random = systemRandom;
  const clock = new MovableClock();
  const ring = KeyRing.parse(keys, "test");
  const database = await openTenancyDatabase(databaseUrl, logger);
  const tokens = await openAccessTokens({ database, ring, clock, random, logger }, { issuer });
  const demandedIds: EnvironmentId[] = [];
  const ports: TenancyPorts = {
    database,
    ring,
    keys: createEnvironmentKeys(ring, clock, random),
    tokens,
    addresses: createAddresses({
      domain: "perdure.test",
      scheme: "https",
      hostPorts: { ingress: 8080, admin: 9070 },
      ports:
        withPorts === undefined || withPorts === false
          ? undefined
          : { host: "127.0.0.1", first: withPorts === true ? 30_000 : withPorts },
      proxyUrl: undefined,
      tunnelSrv: undefined,
      consoleUrl,
    }),
    rates: new Rates(database, clock, rates),
    calls: new CallRates(clock),
    failures: new SummaryLog(silentLogger, clock),
    clock,
    random,
    logger,
    readLogs,
    onDemand: (id) => demandedIds.push(id),
  };
  const tenancy: TenancyOptions = { regions: ["us", "eu"], lambdaPrincipalArn: undefined, ...options };
  const { router, pageSessions } = await openLogin(ports, tenancy, { ...NO_OTHER_LOGIN, ...login });
  const gateway = createGatewayLink(ports, { at: gatewayAddress, authority: gatewayAuthority, forwarding });
  const links = { docsUrl: "https://docs.example" };
  const pages = consoleRoutes(pageSessions, { gateway, host: page, links });
  const api = createCloudApi(ports, tenancy, [homeRoutes(ports), router, pages]);
  const server = createServer(api);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function user(email = `user${users++}@perdure.test`): Promise<TestUser> {
    const id = newUserId(clock.nowMs(), random);
    await database.tables.users.insert({ id, email, name: undefined, createdAtMs: clock.nowMs() });
    const { token } = await tokens.issue(id, "session_1");
    const client = new CloudClient({ baseUrl: origin, accessToken: () => token });
    const account = async (plan: "free" | "team" = "free"): Promise<AccountId> => {
      const { accountId } = await client.user("CreateAccount", { name: "Acme" });
      if (plan !== "free") await database.tables.accounts.setPlan(accountId, plan);
      return accountId;
    };
    return { id, email, token: token.reveal(), client, account };
  }

  return {
    ports,
    tenancy: createTenancy(ports),
    clock,
    origin,
    demandedIds,
    user,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await tokens[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
