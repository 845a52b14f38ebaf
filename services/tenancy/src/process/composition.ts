/**
 * Wires tenancy as a process. All processes serve users and gateways; the leader also manages environments.
 *
 * database, keys ▸ access tokens ▸ Cloud API (HTTP)
 * │                        ├─▸ Tenancy (gRPC)
 * │                        └─▸ pending mail
 * └─ leadership ▸ provisioner ▸ reconciler, usage, quotas         in one process of all
 */

import { fileURLToPath } from "node:url";
import { type Logger, PerdureError, Secret, SummaryLog } from "@perdure/base";
import type { Provisioner } from "@perdure/cloud";
import { ForwardingKeys } from "@perdure/cloud/forwarding";
import { CallRates, createCloudApi, type TenancyOptions, type TenancyPorts } from "@perdure/cloud-api";
import { openGrpcListener, openPeerCredentials, openPublicCertificate, required } from "@perdure/cluster-kit";
import { type ConsoleHost, openConsole } from "@perdure/console-host";
import { consoleRoutes, createGatewayLink, type GatewayLink, homeRoutes } from "@perdure/console-proxy";
import { createEnvironmentKeys, KeyRing, openAccessTokens, SealRenewal } from "@perdure/credentials";
import { parseAllowance } from "@perdure/egress";
import {
  createAddresses,
  createReconciler,
  createTenancy,
  openQuotas,
  openUsagePoller,
  readUsageOverHttp,
} from "@perdure/environments";
import { tenancyDefinition, tenancyHandlers } from "@perdure/grpc";
import { createHttpPort } from "@perdure/http-server";
import { Rates } from "@perdure/identity";
import { logMailer, type Mailer, MailOutbox, smtpMailer } from "@perdure/mail";
import { readRuntimeLogs } from "@perdure/os-process";
import { type LeaderTerm, openTenancyDatabase, PostgresLeadership } from "@perdure/postgres";
import {
  type ProcessPorts,
  pollMetrics,
  type ReadyFacts,
  readSettingFile,
  trustedProxiesOf,
  untilAvailable,
} from "@perdure/process-kit";
import { checkAddress, observeCertificate, openListener, openProbes } from "@perdure/process-kit/http";
import { type LoginOptions, openLogin } from "@perdure/sign-in";
import { grpcSpan, postgresSpan, tracedOperations } from "@perdure/telemetry";
import { docsUrl } from "@perdure/telemetry/error-page";
import { DRAIN_MS } from "../limits.js";
import { environmentCounts, measuredApi, measuredTenancy, planLimits } from "../metrics.js";
import type { TenancySettings } from "./config.js";
import { hibernationMonitorOf } from "./hibernation-monitor.js";
import { rateMaximaOf } from "./limit-settings.js";
import { wakerOf } from "./waker.js";

/** Opens the provisioner of runtimes; the leader calls it, and closes the provisioner when it loses leadership. */
export type OpenProvisioner = () => Promise<Provisioner>;

/**
 * Starts everything as parts of the lifecycle and resolves when both listeners serve; the process is not ready until the database can be
 * reached. Without a provisioner this process never leads. Rejects with RT0004 (address), META0010, STO0003 (database), OPS0001 (settings).
 */
export async function startTenancy(
  settings: TenancySettings,
  process: ProcessPorts,
  openProvisioner: OpenProvisioner | undefined,
): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, random, logger } = process;
  const tls = await openPeerCredentials(settings.tls, process);
  const { url, ring } = await lifecycle.prepare(() => ({
    url: required("metadata.postgres-url", settings.metadata.postgresUrl).reveal(),
    ring: ringOf(settings),
  }));
  await lifecycle.prepare(() => checkAddress(settings.api, "api.bind-port"));

  const probePorts = { health: () => lifecycle.health, metrics: () => metrics.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  const grpc = await lifecycle.start("gRPC", () =>
    openGrpcListener(settings.grpc, tls, tracedOperations(process, "server", grpcSpan)),
  );
  const available = <T>(open: () => Promise<T>): Promise<T> => untilAvailable("the database", open, process, lifecycle.stopping);
  const statements = tracedOperations(process, "client", postgresSpan);
  const database = await lifecycle.start("database", () => available(() => openTenancyDatabase(url, logger, statements)));
  const issuer = issuerOf(settings);
  const tokenPorts = { database, ring, clock, random, logger: logger.child({ component: "tokens" }) };
  const tokens = await lifecycle.start("access tokens", () => available(() => openAccessTokens(tokenPorts, { issuer })));
  const openWaker = await lifecycle.prepare(() => wakerOf(settings, process));
  const waker = openWaker === undefined ? undefined : await lifecycle.start("waking of runtimes", openWaker);
  const openHibernation = await lifecycle.prepare(() => hibernationMonitorOf(settings, process));
  const hibernation = openHibernation === undefined ? undefined : await lifecycle.start("sleep of runtimes", openHibernation);
  const ports: TenancyPorts = {
    database,
    ring,
    keys: createEnvironmentKeys(ring, clock, random),
    tokens,
    addresses: addressesOf(settings),
    rates: new Rates(database, clock, rateMaximaOf(settings.limits)),
    calls: new CallRates(clock, { perSecond: settings.limits.apiCallsPerSecond, burst: settings.limits.apiCallsBurst }),
    clock,
    random,
    logger: logger.child({ component: "tenancy" }),
    failures: new SummaryLog(logger.child({ component: "tenancy" }), clock),
    readLogs: readLogsOf(settings),
    onDemand: waker === undefined ? undefined : (id) => waker.requestWake(id),
    hibernation,
    onPlanLimit: planLimits(metrics),
  };

  const counts = await lifecycle.start("metrics of environments", () =>
    pollMetrics("the database", environmentCounts(metrics, ports), process),
  );
  metrics.observed(
    { type: "gauge", name: "perdure_tenancy_sync_age_seconds", help: "Seconds since the last answer of the database" },
    () => counts.ageSeconds,
  );
  if (openProvisioner !== undefined) {
    const withTunnels = settings.cloud.tunnels === "on";
    const lead = (leadership: LeaderTerm) => runSharedTasks(ports, openProvisioner, leadership, withTunnels);
    const ballot = { lead, clock, logger: ports.logger };
    await lifecycle.start(
      "environments",
      () => new PostgresLeadership({ url, environment: "cloud", name: "environments" }, ballot),
    );
  }

  const mailer = await lifecycle.prepare(() => mailerOf(settings, logger.child({ component: "mail" })));
  await lifecycle.start("mail", () => new MailOutbox({ ...ports, mailer }));
  const options = optionsOf(settings);
  const login = await lifecycle.prepare(() => openLogin(ports, options, loginOptionsOf(settings)));
  const page = await lifecycle.prepare(() => consoleOf(settings, logger.child({ component: "console" })));
  const gateway = await lifecycle.prepare(() => gatewayLinkOf(settings, ports));
  const links = { docsUrl: docsUrl(settings.docsUrl), traceUrl: settings.console.traceUrl };
  const routers = [homeRoutes(ports), login.router, consoleRoutes(login.pageSessions, { gateway, host: page, links })];
  const certificates = await openPublicCertificate(settings.publicTls, process);
  observeCertificate(metrics, "perdure_tenancy_tls_cert_expiry_seconds", certificates);
  const http = createHttpPort(
    { request: measuredApi(createCloudApi(ports, options, routers), metrics, clock) },
    { clock, logger },
    { certificates },
  );
  const close = (): Promise<void> => http.close(DRAIN_MS);
  const listener = await lifecycle.start("Cloud API", () => openListener(settings.api, (address) => http.listen(address), close));
  grpc.serve(
    "perdure.control.v1.Tenancy",
    tenancyDefinition,
    tenancyHandlers(measuredTenancy(createTenancy(ports), metrics, clock), ports.logger),
  );
  return {
    api: `${certificates === undefined ? "http" : "https"}://localhost:${listener.port}`,
    issuer,
    console: page === undefined ? "not built" : ports.addresses.consoleUrl,
    grpc: `:${grpc.port}`,
    probes: `http://localhost:${probes.port}/readyz`,
  };
}

/** Tasks that one process does for all. */
async function runSharedTasks(
  ports: TenancyPorts,
  openProvisioner: OpenProvisioner,
  leadership: LeaderTerm,
  withTunnels: boolean,
): Promise<AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  try {
    const provisioner = stack.use(await openProvisioner());
    stack.use(createReconciler({ ...ports, provisioner, mayAct: () => leadership.isSure }, { withTunnels }));
    stack.use(openUsagePoller({ ...ports, readUsage: readUsageOverHttp }));
    stack.use(openQuotas(ports));
    stack.use(new SealRenewal(ports));
    return stack.move();
  } finally {
    await stack.disposeAsync(); // Empty when all went well.
  }
}

/** Reading the folders of runtimes needs no leadership, so every process on their machine can return logs. */
function readLogsOf({ provisioner: { directory } }: TenancySettings): TenancyPorts["readLogs"] {
  return directory === undefined ? undefined : (id, span) => readRuntimeLogs(directory, id, span);
}

function ringOf({ secrets }: TenancySettings): KeyRing {
  const path = required("secrets.key-file", secrets.keyFile);
  return KeyRing.parse(readSettingFile("secrets.key-file", path), "secrets.key-file");
}

function issuerOf({ api, cloud }: TenancySettings): string {
  return api.publicUrl?.replace(/\/+$/, "") ?? `https://api.${cloud.regions[0]}.${cloud.domain}`;
}

/** Origin of the console and the login pages. */
function consoleUrlOf(settings: TenancySettings): string {
  return settings.consoleUrl === undefined ? issuerOf(settings) : new URL(settings.consoleUrl).origin;
}

/** The built console; undefined when it does not exist and no setting names it. Rejects with OPS0001. */
async function consoleOf({ console: { directory } }: TenancySettings, logger: Logger): Promise<ConsoleHost | undefined> {
  const consoleHost = await openConsole(directory ?? BUILT_CONSOLE, { base: "/", csp: { connect: [] } });
  if (consoleHost === undefined && directory !== undefined)
    throw new PerdureError("OPS0001", `'console.directory' ${directory} has no console in it`);
  if (consoleHost === undefined)
    logger.warn({ directory: BUILT_CONSOLE }, "the console is not built; users see their profile instead");
  return consoleHost;
}

/** Directory of the built console in the tree and in images, relative to the bundle. */
const BUILT_CONSOLE = fileURLToPath(new URL("../../console/dist", import.meta.url));

const FORWARDING_SETTING = "console.forwarding-key-file";

/** Throws OPS0001 when the authority or the keys cannot be read. */
function gatewayLinkOf({ cloud, console: settings }: TenancySettings, ports: TenancyPorts): GatewayLink {
  const {
    gatewayHost: host,
    gatewayScheme,
    gatewayIngressPort: ingress,
    gatewayAdminPort: admin,
    gatewayAuthorityFile,
    forwardingKeyFile,
  } = settings;
  const authority =
    gatewayAuthorityFile === undefined ? undefined : readSettingFile("console.gateway-authority-file", gatewayAuthorityFile);
  const scheme = gatewayScheme === "auto" ? cloud.scheme : gatewayScheme;
  const forwarding =
    forwardingKeyFile === undefined
      ? undefined
      : ForwardingKeys.parse(readSettingFile(FORWARDING_SETTING, forwardingKeyFile), FORWARDING_SETTING);
  const at = host === undefined ? undefined : { host, scheme, ports: { ingress, admin } };
  return createGatewayLink(ports, { at, authority, forwarding });
}

function addressesOf(settings: TenancySettings) {
  const { cloud } = settings;
  const { domain, scheme, ingressPort, adminPort, portsHost, portsFirst, tunnelProxyUrl, tunnelSrv, tunnelServers } = cloud;
  return createAddresses({
    domain,
    scheme,
    hostPorts: { ingress: ingressPort, admin: adminPort },
    ports: portsHost === undefined ? undefined : { host: portsHost, first: portsFirst },
    proxyUrl: tunnelProxyUrl,
    tunnelSrv,
    tunnelServers: tunnelServers?.split(",").map((server) => server.trim()),
    consoleUrl: consoleUrlOf(settings),
  });
}

/** Throws OPS0001 when the file with the password cannot be read. */
function mailerOf({ mail }: TenancySettings, logger: Logger): Mailer {
  const { smtpHost: host, smtpPort: port, smtpTls: tls, smtpUser: user, smtpPasswordFile: file, from } = mail;
  if (host === undefined) return logMailer(logger);
  const password = file === undefined ? undefined : new Secret(readSettingFile("mail.smtp-password-file", file).trim());
  return smtpMailer({ host, port, tls, user, password, from });
}

function loginOptionsOf({ login, mail }: TenancySettings): LoginOptions {
  const { oidcIssuer, oidcName, verifyEmail } = login;
  const verifiesEmail = verifyEmail === "auto" ? mail.smtpHost !== undefined : verifyEmail === "on";
  if (oidcIssuer === undefined) return { verifiesEmail, oidc: undefined };
  const clientId = required("login.oidc-client-id", login.oidcClientId);
  const path = required("login.oidc-client-secret-file", login.oidcClientSecretFile);
  const clientSecret = new Secret(readSettingFile("login.oidc-client-secret-file", path).trim());
  const allowances = login.oidcAllow.flatMap((text) => parseAllowance(text) ?? []);
  return { verifiesEmail, oidc: { issuer: oidcIssuer, clientId, clientSecret, name: oidcName, allowances } };
}

function optionsOf({ cloud, trustedProxies, limits }: TenancySettings): TenancyOptions {
  return {
    regions: cloud.regions,
    lambdaPrincipalArn: cloud.lambdaPrincipalArn,
    trustedProxies: trustedProxiesOf(trustedProxies),
    requests: { atOnceMax: limits.requestsAtOnce, ofNetworkMax: limits.requestsAtOncePerNetwork },
  };
}
