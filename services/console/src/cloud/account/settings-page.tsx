/** The name of an account, the limits of its plan, and the way to change the plan. */
import { type FormEvent, useState } from "react";
import {
  Button,
  Confirmation,
  Copyable,
  Loaded,
  Page,
  ProblemNote,
  Section,
  Table,
  TextArea,
  TextField,
} from "../../kit/index.js";
import type { AccountFacts } from "../cloud-api.js";
import { useCloudChange } from "../use-cloud.js";
import { useAccount, useAccountFacts, useForbidden } from "./account.js";
import { limitTexts } from "./plan-texts.js";

type AccountPlan = AccountFacts["plan"];

export default function SettingsPage() {
  const facts = useAccountFacts();
  return (
    <Page title="Account settings">
      <Loaded query={facts}>
        {(loaded) => (
          <>
            <Section title="Name">
              <Names key={`${loaded.name} ${loaded.description}`} facts={loaded} />
            </Section>
            <Section title="Plan">
              <Plans facts={loaded} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Names({ facts }: { readonly facts: AccountFacts }) {
  const { accountId, role } = useAccount();
  const [name, setName] = useState(facts.name);
  const [description, setDescription] = useState(facts.description ?? "");
  const forbidden = useForbidden("account");
  const isSame = name.trim() === facts.name && description.trim() === (facts.description ?? "");
  const update = useCloudChange(
    (api) => api.user("UpdateAccount", { accountId, name: name.trim(), description: description.trim() }),
    { done: () => "Saved" },
  );
  const lacking = forbidden ?? (name.trim() === "" ? "Enter a name" : isSame ? "Nothing to save" : undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (lacking === undefined && !update.isPending) update.mutate();
  };
  return (
    <form className="card stack" onSubmit={submit}>
      <TextField label="Name" value={name} onChange={setName} maxLength={100} readOnly={forbidden !== undefined} />
      <TextArea label="Description" rows={2} value={description} onChange={setDescription} isReadOnly={forbidden !== undefined} />
      <div className="quiet">
        Id <Copyable text={accountId} label="the account id" /> · you are {role}
      </div>
      {update.isError && <ProblemNote cause={update.error} title="The account was not changed." />}
      <div className="row">
        <Button type="submit" appearance="primary" isBusy={update.isPending} forbidden={lacking}>
          Save
        </Button>
      </div>
    </form>
  );
}

interface Compared {
  readonly name: string;
  readonly values: ReadonlyMap<string, string>;
}

function Plans({ facts }: { readonly facts: AccountFacts }) {
  const { accountId } = useAccount();
  const forbidden = useForbidden("account");
  const [chosenPlan, setChosenPlan] = useState<AccountPlan>();
  const change = useCloudChange((api, { planId }: AccountPlan) => api.account(accountId, "ChangePlan", { planId }), {
    done: (_, { name }) => `Changed to the plan ${name}; its limits apply now`,
    onDone: () => setChosenPlan(undefined),
  });
  const plans = [facts.plan, ...facts.plans.filter(({ planId }) => planId !== facts.plan.planId)];
  return (
    <div className="stack">
      <p>
        This account has the plan <strong>{facts.plan.name}</strong>.
        {plans.length === 1 && " Only the operator of this cloud can change it."}
      </p>
      <Table<Compared>
        label="Limits of plans"
        rows={compare(plans)}
        keyOf={({ name }) => name}
        columns={[
          { name: "Limit", cell: ({ name }) => name },
          ...plans.map((plan, n) => ({
            name: n === 0 ? `${plan.name} (now)` : plan.name,
            cell: ({ values }: Compared) => values.get(plan.planId) ?? "–",
          })),
        ]}
      />
      <div className="row">
        {plans.slice(1).map((plan) => (
          <Button key={plan.planId} forbidden={forbidden} onClick={() => setChosenPlan(plan)}>
            Change to {plan.name} …
          </Button>
        ))}
      </div>
      <Confirmation
        title={`Change to ${chosenPlan?.name ?? "another plan"}`}
        isOpen={chosenPlan !== undefined}
        onClose={() => setChosenPlan(undefined)}
        verb="Change plan"
        isDanger={false}
        isBusy={change.isPending}
        problem={change.isError && <ProblemNote cause={change.error} title="The plan was not changed." />}
        onConfirm={() => chosenPlan !== undefined && change.mutate(chosenPlan)}
      >
        <p>The limits apply at once to all environments. The change is refused when the account exceeds them.</p>
      </Confirmation>
    </div>
  );
}

function compare(plans: readonly AccountPlan[]): readonly Compared[] {
  const rows = new Map<string, Map<string, string>>();
  for (const { planId, limits } of plans) {
    for (const { name, value } of limitTexts(limits)) {
      const values = rows.get(name) ?? new Map<string, string>();
      values.set(planId, value);
      rows.set(name, values);
    }
  }
  return [...rows].map(([name, values]) => ({ name, values }));
}
