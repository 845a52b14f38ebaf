/**
 * `perdure link` takes all steps of a first use, and stops with advice where it cannot continue:
 *
 *     login ▸ environment (created when there is none) ▸ service listens ▸ tunnel ▸ registered as tunnel://NAME:PORT ▸ a call to paste
 */
import { AdminApiError, AdminClient, type RegistrationView } from "@perdure/admin-client";
import { Secret } from "@perdure/base";
import type { CloudClient } from "@perdure/cloud-client";
import type { ClientTunnel, TunnelLocal } from "@perdure/tunnel";
import {
  type CloudEnvironmentRef,
  chooseAccount,
  chooseEnvironment,
  describeEnvironment,
  type EnvironmentDescription,
  listEnvironments,
  profileOf,
} from "../../cloud/index.js";
import { type Context, USER_AGENT } from "../../context.js";
import { FAILED } from "../../errors.js";
import { SERVICE_POLL_MS, SERVICE_WAIT_MS_MAX, TUNNEL_READY_MS_MAX } from "../../limits.js";
import { pause } from "../../pause.js";
import { configureNew, makeEnvironment, waitFor } from "../env/create.js";
import { loginByDevice } from "../login/login.js";
import { asCliError } from "../manage/connect.js";
import { failOn, startTunnel, untilClosed } from "../tunnel/run.js";
import { tunnelNameOf } from "../tunnel/tunnel.js";
import { callLine } from "./call-line.js";
import { isListening } from "./listening.js";

export interface LinkFlags {
  readonly create: string;
  readonly region: string;
  readonly localPort?: TunnelLocal;
  readonly tunnelName?: string;
  readonly server?: readonly string[];
  readonly ca?: string;
  readonly "useHttp1.1"?: boolean;
  readonly breaking?: boolean;
  readonly browser: boolean;
  readonly verbose?: boolean;
}

export async function link(context: Context, reference: string | undefined, flags: LinkFlags): Promise<void> {
  const { output, session } = context;
  const local = flags.localPort ?? { tunnelPort: 9080, host: "127.0.0.1", port: 9080 };
  const name = tunnelNameOf(context, flags.tunnelName);
  if (session.login === undefined) await loginByDevice(context, flags.browser);
  const client = session.client();
  const facts = await readyEnvironment(context, client, await pickEnvironment(context, client, reference, flags));
  const profile = profileOf(context, facts.environmentId) ?? (await configureNew(context, facts, false));
  output.event({ event: "environment", ...facts, profile }, () =>
    output.print(`Environment '${facts.name}': ${facts.ingressBaseUrl}`),
  );

  await untilListening(context, local);
  const credential = () => session.accessToken();
  const tunnel = startTunnel(
    context,
    {
      environmentId: facts.environmentId,
      name: facts.name,
      signingPublicKeys: facts.signingPublicKeys,
      srv: facts.tunnelSrv,
      servers: facts.tunnelServers,
      adminUrl: facts.adminBaseUrl,
      ingressUrl: facts.ingressBaseUrl,
      credential: async () => (await credential()).reveal(),
    },
    { name, locals: [local], allow: [], servers: flags.server, ca: flags.ca, isVerbose: flags.verbose === true },
  );
  try {
    await untilReady(context, tunnel);
    const uri = `tunnel://${name}:${local.tunnelPort}`;
    const registered = await register(context, facts, uri, flags);
    const call = callLine(registered, facts.ingressBaseUrl, `${facts.accountId}/${facts.name}`);
    const services = registered.services.map((service) => service.name);
    output.event({ event: "ready", uri, deploymentId: registered.id, services, call }, () => {
      output.print(`Registered ${uri} (${registered.id}): ${services.join(", ")}`);
      output.print();
      if (call !== undefined) output.print(call);
      output.note("");
      output.note("Ctrl-C closes the tunnel; running invocations continue when it is open again: perdure link");
    });
    await untilClosed(context, tunnel);
  } finally {
    await tunnel.close();
  }
}

/** The named environment, else the one in use, else the only one, else a new one. */
async function pickEnvironment(
  context: Context,
  client: CloudClient,
  reference: string | undefined,
  flags: LinkFlags,
): Promise<CloudEnvironmentRef> {
  if (reference !== undefined) return await chooseEnvironment(context, client, reference);
  if (context.environment().kind === "cloud") return await chooseEnvironment(context, client);
  const account = await chooseAccount(context, client);
  const { accountId } = account;
  const alive = (await listEnvironments(context, client, account)).filter(({ status }) => !/^DELET/.test(status));
  const [first] = alive;
  if (first === undefined) {
    context.output.note(`The account '${account.name}' has no environment; '${flags.create}' is created.`);
    return await makeEnvironment(context, client, account, { name: flags.create, region: flags.region });
  }
  if (alive.length === 1) return { accountId, environmentId: first.environmentId };
  const choices = alive.map(({ environmentId, name, status }) => ({ value: environmentId, label: name, hint: status }));
  const environmentId = await context.prompts.choose("Which environment?", choices, "Name it: perdure link ENV");
  return { accountId, environmentId };
}

async function readyEnvironment(
  context: Context,
  client: CloudClient,
  environment: CloudEnvironmentRef,
): Promise<EnvironmentDescription> {
  const facts = await describeEnvironment(context, client, environment);
  if (facts.status === "SUSPENDED") {
    context.fail(FAILED, `'${facts.name}' is suspended`, `Resume it: perdure env resume ${facts.name}`);
  }
  return facts.status === "ACTIVE" ? facts : await waitFor(context, client, environment, facts.name);
}

async function untilListening(context: Context, { host, port }: TunnelLocal): Promise<void> {
  const place = `${host}:${port}`;
  if (await isListening(host, port)) return;
  const deadlineMs = context.clock.monotonicMs() + SERVICE_WAIT_MS_MAX;
  await context.output.during(`Waiting for a service at ${place}`, async () => {
    while (!(await isListening(host, port))) {
      if (context.clock.monotonicMs() > deadlineMs) {
        context.fail(FAILED, `Nothing listens at ${place}`, "Start your service, or name its port: --local-port PORT");
      }
      await pause(context, SERVICE_POLL_MS);
    }
  });
}

async function untilReady(context: Context, tunnel: ClientTunnel): Promise<void> {
  const stop = new AbortController();
  const timeout = pause(
    { clock: context.clock, signal: AbortSignal.any([stop.signal, context.signal]) },
    TUNNEL_READY_MS_MAX,
  ).then(() => "late" as const);
  const first = await context.output
    .during("Opening the tunnel", () => Promise.race([tunnel.ready, timeout]))
    .finally(() => stop.abort());
  if (first === "late") {
    context.fail(
      FAILED,
      "The tunnel does not come up",
      "Is the relay reachable from here? Set its address with --server; -v prints more.",
    );
  }
  if (first === undefined) failOn(context, await tunnel.ended);
  context.signal.throwIfAborted();
}

async function register(
  context: Context,
  facts: EnvironmentDescription,
  uri: string,
  flags: LinkFlags,
): Promise<RegistrationView> {
  const admin = new AdminClient({
    baseUrl: facts.adminBaseUrl,
    token: async () => new Secret((await context.session.accessToken()).reveal()),
    userAgent: USER_AGENT,
  });
  const registration = { address: uri, force: true, breaking: flags.breaking === true, useHttp11: flags["useHttp1.1"] === true };
  try {
    const work = () => admin.deployments.register(registration, { signal: context.signal });
    return (await context.output.during(`Registering ${uri}`, work)).deployment;
  } catch (cause) {
    throw cause instanceof AdminApiError ? asCliError(cause) : cause;
  }
}
