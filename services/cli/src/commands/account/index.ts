/** `perdure account`: accounts with their environments, members and plan; one account is in use. */
import type { Command } from "commander";
import { accountNamed, chooseAccount } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";

interface AccountUpdateFlags {
  readonly rename?: string;
  readonly description?: string;
}

export function register(program: Command, context: Context): void {
  const account = program.command("account").helpGroup("Cloud:").description("your accounts");
  account
    .command("list")
    .description("list your accounts")
    .action(() => list(context));
  account
    .command("create")
    .description("create an account that you own, and use it")
    .argument("<name>")
    .option("--description <text>")
    .action((name: string, flags: { description?: string }) => create(context, name, flags.description));
  account
    .command("use")
    .description("use this account by default")
    .argument("<account>", "id or name")
    .action((name: string) => use(context, name));
  account
    .command("describe")
    .description("plan and limits of the account in use")
    .action(() => describe(context));
  account
    .command("update")
    .description("change name or description of the account in use")
    .option("--rename <name>")
    .option("--description <text>")
    .action((flags: AccountUpdateFlags) => update(context, flags));
  account
    .command("plan")
    .description("change the plan of the account in use")
    .argument("<plan>", "its id: free, team …")
    .action((planId: string) => changePlan(context, planId));
  account
    .command("join")
    .description("accept an invitation")
    .argument("<token>", "from the invitation")
    .action((token: string) => join(context, token));
}

async function list(context: Context): Promise<void> {
  const { accounts } = await context.session.client().user("ListAccounts", {}, { signal: context.signal });
  const inUse = context.session.login?.accountId ?? (accounts.length === 1 ? accounts[0]?.accountId : undefined);
  const { output } = context;
  output.result({ accounts, inUse }, () =>
    output.table(
      [
        { title: "", show: ({ accountId }) => (accountId === inUse ? output.paint("green", "*") : "") },
        { title: "NAME", show: ({ name }) => name },
        { title: "ROLE", show: ({ role }) => role },
        { title: "PLAN", show: ({ planId }) => planId },
        { title: "ID", show: ({ accountId }) => accountId },
      ],
      accounts,
      "You are in no account. Create one: perdure account create NAME",
    ),
  );
}

async function create(context: Context, name: string, description: string | undefined): Promise<void> {
  const client = context.session.client();
  const body = description === undefined ? { name } : { name, description };
  const { accountId } = await client.user("CreateAccount", body, { signal: context.signal });
  await keep(context, accountId);
  context.output.result({ accountId, name }, () =>
    context.output.print(`Created the account '${name}' (${accountId}); it is in use.`),
  );
}

async function use(context: Context, idOrName: string): Promise<void> {
  const { accounts } = await context.session.client().user("ListAccounts", {}, { signal: context.signal });
  const { accountId, name } = accountNamed(context, accounts, idOrName);
  await keep(context, accountId);
  context.output.result({ accountId, name }, () => context.output.print(`The account '${name}' is in use.`));
}

async function describe(context: Context): Promise<void> {
  const client = context.session.client();
  const { accountId } = await chooseAccount(context, client);
  const facts = await client.account(accountId, "DescribeAccount", {}, { signal: context.signal });
  const { output } = context;
  output.result(facts, () => {
    output.facts([
      ["Name", facts.name],
      ["Id", facts.accountId],
      ["Description", facts.description],
      ["Your role", facts.role],
      ["Plan", facts.plan.name],
      ...Object.entries(facts.plan.limits).map(([name, value]) => [`  ${name}`, JSON.stringify(value)] as const),
    ]);
  });
}

async function update(context: Context, { rename, description }: AccountUpdateFlags): Promise<void> {
  if (rename === undefined && description === undefined) {
    context.fail(USAGE, "Nothing is to be changed", "Give --rename or --description.");
  }
  const client = context.session.client();
  const { accountId } = await chooseAccount(context, client);
  const changes = { ...(rename === undefined ? {} : { name: rename }), ...(description === undefined ? {} : { description }) };
  const changed = await client.user("UpdateAccount", { accountId, ...changes }, { signal: context.signal });
  context.output.result(changed, () => context.output.print(`Changed '${changed.name}'.`));
}

async function changePlan(context: Context, planId: string): Promise<void> {
  const client = context.session.client();
  const { accountId, name } = await chooseAccount(context, client);
  if (!context.yes) {
    const agreed = await context.prompts.confirm(
      `Put '${name}' on the plan '${planId}'? Its limits hold at once.`,
      "Do it with --yes",
    );
    if (!agreed) context.fail(FAILED, "Nothing was done");
  }
  const changed = await client.account(accountId, "ChangePlan", { planId }, { signal: context.signal });
  context.output.result(changed, () => context.output.print(`'${name}' is on the plan '${changed.planId}'.`));
}

async function join(context: Context, token: string): Promise<void> {
  const { accountId, role } = await context.session.client().user("AcceptInvitation", { token }, { signal: context.signal });
  await keep(context, accountId);
  context.output.result({ accountId, role }, () =>
    context.output.print(`You are in the account ${accountId} now, as ${role}; it is in use.`),
  );
}

async function keep(context: Context, accountId: string): Promise<void> {
  const { apiOrigin } = context.session;
  await context.store.update(({ logins }) => {
    const login = logins[apiOrigin];
    if (login !== undefined) login.accountId = accountId;
  });
}
