/** The name of an environment, the origins that may call it from browsers, and its deletion. */
import { type FormEvent, useState } from "react";
import { Button, CheckField, Copyable, Facts, Moment, Page, ProblemNote, Section, TextArea, TextField } from "../../kit/index.js";
import { useAccount, useEnvironments, useForbidden } from "../account/account.js";
import { ResumeButton, useLifecycle } from "../account/environment-actions.js";
import { reasonOf } from "../account/environment-list.js";
import { nameProblem } from "../account/names.js";
import { StatusBadge } from "../account/status-badge.js";
import { useCloudChange } from "../use-cloud.js";
import { useFacts } from "./facts.js";
import { originsOf, originsProblem } from "./origins.js";

export default function SettingsPage() {
  const facts = useFacts();
  const { environmentId, name, region, planId, createdAt, erasedAt, status } = facts;
  const reason = reasonOf(facts);
  return (
    <Page title="Environment settings" lead={`Settings of ${name}.`}>
      <div className="card">
        <Facts
          facts={[
            ["State", <StatusBadge key="s" status={status} />],
            ["Region", region],
            ["Plan", planId],
            ["Created", <Moment key="c" at={createdAt * 1_000} />],
            ["Id", <Copyable key="i" text={environmentId} label="the environment id" />],
            ...(erasedAt === undefined ? [] : [["Data deleted", <Moment key="e" at={erasedAt * 1_000} />] as const]),
          ]}
        />
      </div>
      {reason !== undefined && <p className="note">{reason}</p>}
      <Section title="Name and callers">
        <SettingsForm
          key={JSON.stringify([facts.name, facts.description, facts.corsOrigins, facts.forwardsForeignAuthorization])}
        />
      </Section>
      <Section title="Suspend or delete">
        <Endings />
      </Section>
    </Page>
  );
}

function SettingsForm() {
  const facts = useFacts();
  const { accountId } = useAccount();
  const environments = useEnvironments();
  const { environmentId } = facts;
  const [name, setName] = useState(facts.name);
  const [description, setDescription] = useState(facts.description ?? "");
  const [origins, setOrigins] = useState(facts.corsOrigins.join("\n"));
  const [forwards, setForwards] = useState(facts.forwardsForeignAuthorization);
  const mayNot = useForbidden("environments") ?? (facts.status === "DELETING" ? "The environment is being deleted" : undefined);
  const existingNames = (environments.data ?? []).filter((one) => one.environmentId !== environmentId).map((one) => one.name);
  const wrongName = name === "" ? "Enter a name." : nameProblem(name, existingNames);
  const wrongOrigins = originsProblem(origins);
  const isSame =
    name === facts.name &&
    description.trim() === (facts.description ?? "") &&
    forwards === facts.forwardsForeignAuthorization &&
    originsOf(origins).join() === facts.corsOrigins.join();
  const lacking = mayNot ?? wrongName ?? wrongOrigins ?? (isSame ? "Nothing to save" : undefined);
  const update = useCloudChange(
    (api) =>
      api.account(accountId, "UpdateEnvironment", {
        environmentId,
        ...(name === facts.name ? {} : { name }),
        description: description.trim(),
        corsOrigins: [...originsOf(origins)],
        forwardsForeignAuthorization: forwards,
      }),
    { done: () => "Saved; takes effect within 30 seconds" },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (lacking === undefined && !update.isPending) update.mutate();
  };
  const isReadOnly = mayNot !== undefined;
  return (
    <form className="card stack" onSubmit={submit}>
      <TextField
        label="Name"
        isCode
        value={name}
        onChange={setName}
        readOnly={isReadOnly}
        problem={wrongName}
        autoComplete="off"
        spellCheck={false}
        hint="Existing command-line profiles keep their name."
      />
      <TextArea label="Description" rows={2} value={description} onChange={setDescription} isReadOnly={isReadOnly} />
      <TextArea
        label="Allowed origins (CORS)"
        rows={3}
        isCode
        value={origins}
        onChange={setOrigins}
        isReadOnly={isReadOnly}
        problem={wrongOrigins}
        hint="One per line, such as https://app.example; * allows every origin, without credentials. Applies to the ingress only."
      />
      <CheckField
        label="Forward Authorization headers of other systems to handlers"
        isOn={forwards}
        onChange={isReadOnly ? () => undefined : setForwards}
      />
      <p className="quiet small">
        Perdure's own Authorization header is always removed. When this is off, all others are removed as well.
      </p>
      {update.isError && <ProblemNote cause={update.error} title="The settings were not changed." />}
      <div className="row">
        <Button type="submit" appearance="primary" isBusy={update.isPending} forbidden={lacking}>
          Save
        </Button>
      </div>
    </form>
  );
}

function Endings() {
  const facts = useFacts();
  const lifecycle = useLifecycle(facts);
  if (facts.status === "DELETING") {
    return (
      <div className="card stack">
        <p>
          The environment is being deleted. Its data is erased{" "}
          {facts.erasedAt !== undefined && <Moment at={facts.erasedAt * 1_000} />}; until then an owner can restore it.
        </p>
        <div className="row">
          <ResumeButton subject={facts} />
        </div>
      </div>
    );
  }
  return (
    <div className="card stack">
      <p>
        A suspended environment refuses calls and keeps everything. A deleted environment can be restored by an owner for seven
        days.
      </p>
      <div className="row">
        {facts.status === "ACTIVE" || facts.status === "PENDING" ? (
          <Button forbidden={lifecycle.forbidden.suspend} onClick={() => lifecycle.setPendingAction("suspend")}>
            Suspend …
          </Button>
        ) : (
          <ResumeButton subject={facts} />
        )}
        <Button appearance="danger" forbidden={lifecycle.forbidden.delete} onClick={() => lifecycle.setPendingAction("delete")}>
          Delete …
        </Button>
      </div>
      {lifecycle.dialogs}
    </div>
  );
}
