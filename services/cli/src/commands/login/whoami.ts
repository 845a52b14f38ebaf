/** `perdure whoami`: the user, and the environment that commands use. */
import type { Secret } from "@perdure/base";
import { chooseEnvironment, describeEnvironment } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { showWhen } from "../../output/index.js";

export async function whoami(context: Context): Promise<void> {
  const { session, output, clock, official } = context;
  const login = session.login;
  const account = login === undefined ? undefined : await accountOf(context);
  const environment = context.environment();
  const result = {
    isLoggedIn: login !== undefined,
    apiUrl: session.apiOrigin,
    userId: login?.userId,
    email: login?.email,
    expiresAt: login === undefined ? undefined : Math.floor(login.expiresAtMs / 1_000),
    account,
    environment: {
      name: environment.name,
      kind: environment.kind,
      chosenBy: environment.chosenBy,
      adminUrl: environment.adminUrl,
      ingressUrl: environment.ingressUrl,
      accountId: environment.accountId,
      environmentId: environment.environmentId,
    },
    officialConfig: official.paths.config,
  };
  output.result(result, () => {
    output.facts([
      ["User", login === undefined ? `not logged in at ${session.apiOrigin}; log in: perdure login` : login.email],
      ["Cloud", login === undefined ? undefined : session.apiOrigin],
      [
        "Login",
        login === undefined ? undefined : `ends ${showWhen(login.expiresAtMs, clock.nowMs())} and is renewed when it is used`,
      ],
      ["Account", account === undefined ? undefined : `${account.name} (${account.accountId}), ${account.role}`],
      ["Environment", `${environment.name} (chosen by ${environment.chosenBy})`],
      ["Management API", environment.adminUrl],
      ["Ingress", environment.ingressUrl],
      ["Profiles", official.paths.config],
    ]);
  });
}

/** The account in use; undefined when it is ambiguous. */
async function accountOf(context: Context): Promise<{ accountId: string; name: string; role: string } | undefined> {
  const { accounts } = await context.session.client().user("ListAccounts", {}, { signal: context.signal });
  const inUse = context.session.login?.accountId;
  const match = accounts.find(({ accountId }) => accountId === inUse) ?? (accounts.length === 1 ? accounts[0] : undefined);
  return match === undefined ? undefined : { accountId: match.accountId, name: match.name, role: match.role };
}

export async function token(context: Context, reference: string | undefined): Promise<void> {
  const credential = reference === undefined ? await tokenInUse(context) : await tokenOf(context, reference);
  context.output.result({ token: credential.reveal() }, () => context.output.print(credential.reveal()));
}

async function tokenInUse(context: Context): Promise<Secret> {
  const { name, ingressUrl, credential } = context.environment();
  const secret = await credential(ingressUrl);
  return (
    secret ??
    context.fail(FAILED, `Nothing was issued for '${name}' at ${ingressUrl}`, "Name one of the cloud: perdure token ENV")
  );
}

/** The login's token, once the Cloud API has confirmed that the environment exists. */
async function tokenOf(context: Context, reference: string): Promise<Secret> {
  const client = context.session.client();
  await describeEnvironment(context, client, await chooseEnvironment(context, client, reference));
  return await context.session.accessToken();
}
