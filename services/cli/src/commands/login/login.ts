/** `perdure login` (cloud.md §1.7): the user approves this machine in a browser, and both command lines work afterwards. */
import { hostname, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { CloudClient, type DeviceLogin, OAuthClientError, type OAuthTokens } from "@perdure/cloud-client";
import { openBrowser } from "../../browser.js";
import { foreignAdvice, isForeignLogin } from "../../cloud/index.js";
import { homeOf } from "../../config/index.js";
import { type Context, USER_AGENT } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { showDuration, showWhen } from "../../output/index.js";
import { loginByKey } from "./by-key.js";
import { adviceOn } from "./login-advice.js";

export interface LoginFlags {
  readonly refresh?: boolean;
  readonly browser?: boolean;
  readonly restateHome?: string | true;
  readonly name?: string;
}

export async function login(context: Context, flags: LoginFlags): Promise<void> {
  if (flags.restateHome !== undefined) await moveOfficial(context, flags.restateHome);
  if (flags.refresh === true) return await refresh(context);
  const key = context.variables.find("PERDURE_API_KEY");
  if (key !== undefined) return await loginByKey(context, key, flags.name);
  if (flags.name !== undefined)
    context.fail(USAGE, "--name goes with PERDURE_API_KEY", "Name environments by: perdure env configure");
  await loginByDevice(context, flags.browser !== false);
}

/** The device flow of RFC 8628. Resolves when the login is stored and reported. */
export async function loginByDevice(context: Context, mayOpenBrowser: boolean): Promise<void> {
  const { session, output } = context;
  const tokens = await approvedTokens(context, mayOpenBrowser);
  const client = new CloudClient({
    baseUrl: session.apiOrigin,
    accessToken: () => tokens.accessToken,
    userAgent: USER_AGENT,
    fetch: context.fetch,
  });
  const user = await client.user("GetUserIdentity", {}, { signal: context.signal });
  await session.keepLogin(tokens, user);
  const isOfficialUpdated = await session.updateOfficial(session.apiOrigin, tokens.accessToken.reveal());
  const result = {
    event: "logged-in",
    apiUrl: session.apiOrigin,
    userId: user.userId,
    email: user.email,
    expiresAt: Math.floor(tokens.expiresAtMs / 1_000),
    officialConfig: isOfficialUpdated ? context.official.paths.config : null,
  };
  output.event(result, () => output.print(`Logged in as ${user.email} at ${session.apiOrigin}.`));
  if (!isOfficialUpdated) warnForeignLogin(context);
}

async function approvedTokens(context: Context, mayOpenBrowser: boolean): Promise<OAuthTokens> {
  const oauth = context.session.oauth();
  try {
    const device = await oauth.begin(deviceName(), context.signal);
    const isOpened = mayOpenBrowser && openBrowser(device.verificationUriComplete, context.variables);
    showDevice(context, device, isOpened);
    const leftMs = device.expiresAtMs - context.clock.nowMs();
    const waiting = `Waiting for your approval (${showDuration(leftMs)} at most)`;
    return await context.output.during(waiting, () => oauth.approved(device, context.signal));
  } catch (cause) {
    if (!(cause instanceof OAuthClientError)) throw cause;
    return context.fail(
      FAILED,
      `The login did not succeed: ${cause.message}`,
      adviceOn(cause.problem, context.session.apiOrigin),
      cause,
    );
  }
}

function showDevice({ output, session }: Context, device: DeviceLogin, isOpened: boolean): void {
  const event = {
    event: "device",
    userCode: device.userCode,
    verificationUri: device.verificationUri,
    verificationUriComplete: device.verificationUriComplete,
    expiresAt: Math.floor(device.expiresAtMs / 1_000),
  };
  output.event(event, () => {
    output.note(`Logging in at ${session.apiOrigin}.`);
    output.note(isOpened ? "A browser opens; if it does not, open" : "Open");
    output.note(`    ${output.paint("bold", device.verificationUriComplete)}`);
    output.note(`and approve this code if the page shows the same:  ${output.paint("bold", device.userCode)}`);
  });
}

/** Shown on the page that approves the login. */
function deviceName(): string {
  return `${userInfo().username} on ${hostname()}`.slice(0, 100);
}

async function refresh(context: Context): Promise<void> {
  const { session, output } = context;
  const { email } = session.requireLogin();
  await output.during("Renewing the login", () => session.renew(session.apiOrigin, true));
  const expiresAtMs = session.requireLogin().expiresAtMs;
  const result = { event: "renewed", apiUrl: session.apiOrigin, email, expiresAt: Math.floor(expiresAtMs / 1_000) };
  output.event(result, () =>
    output.print(`Renewed the login of ${email}; it ends ${showWhen(expiresAtMs, context.clock.nowMs())}.`),
  );
  if (isForeignLogin(context)) warnForeignLogin(context);
}

function warnForeignLogin(context: Context): void {
  context.output.warn(
    `The 'restate' command line is logged in elsewhere ([global.cloud] in ${context.official.paths.config}); that stays as it is.\n` +
      foreignAdvice("ENV"),
  );
}

async function moveOfficial(context: Context, given: string | true): Promise<void> {
  const folder = given === true ? join(homeOf(context.variables), ".config", "perdure-restate") : resolve(given);
  await context.store.update((credentials) => {
    credentials.officialFolder = folder;
  });
  context.output.note(`Profiles are kept in ${folder} from now on. For the 'restate' command line:`);
  context.output.note(`    export RESTATE_CLI_CONFIG_HOME=${folder}`);
}
