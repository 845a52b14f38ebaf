/** Why: what an environment is called, who may call it from browsers, and its end. */
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
    <Page title="Environment settings" lead={`Of ${name}.`}>
      <div className="card">
        <Facts
          facts={[
            ["State", <StatusBadge key="s" status={status} />],
            ["Region", region],
            ["Plan", planId],
            ["Created", <Moment key="c" at={createdAt * 1_000} />],
            ["Id", <Copyable key="i" text={environmentId} label="the environment id" />],
            ...(erasedAt === undefined ? [] : [["Its data go", <Moment key="e" at={erasedAt * 1_000} />] as const]),
          ]}
        />
      </div>
      {reason !== undefined && <p className="note">{reason}</p>}
      <Section title="Name and callers">
        <Wishes key={JSON.stringify([facts.name, facts.description, facts.corsOrigins, facts.forwardsForeignAuthorization])} />
      </Section>
      <Section title="Suspend or delete">
        <Endings />
      </Section>
    </Page>
  );
}

function Wishes() {
  const facts = useFacts();
  const { accountId } = useAccount();
  const environments = useEnvironments();
  const { environmentId } = facts;
  const [name, setName] = useState(facts.name);
  const [description, setDescription] = useState(facts.description ?? "");
  const [origins, setOrigins] = useState(facts.corsOrigins.join("\n"));
  const [forwards, setForwards] = useState(facts.forwardsForeignAuthorization);
  const mayNot = useForbidden("environments") ?? (facts.status === "DELETING" ? "The environment is being deleted" : undefined);
  const taken = (environments.data ?? []).filter((one) => one.environmentId !== environmentId).map((one) => one.name);
  const wrongName = name === "" ? "It needs a name." : nameProblem(name, taken);
  const wrongOrigins = originsProblem(origins);
  const isSame =
    name === facts.name &&
    description.trim() === (facts.description ?? "") &&
    forwards === facts.forwardsForeignAuthorization &&
    originsOf(origins).join() === facts.corsOrigins.join();
  const lacking = mayNot ?? wrongName ?? wrongOrigins ?? (isSame ? "Nothing is changed yet" : undefined);
  const update = useCloudChange(
    (api) =>
      api.account(accountId, "UpdateEnvironment", {
        environmentId,
        ...(name === facts.name ? {} : { name }),
        description: description.trim(),
        corsOrigins: [...originsOf(origins)],
        forwardsForeignAuthorization: forwards,
      }),
    { done: () => "It is changed; doors know within half a minute" },
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
        hint="Profiles of command lines keep the name they have."
      />
      <TextArea label="Description" rows={2} value={description} onChange={setDescription} isReadOnly={isReadOnly} />
      <TextArea
        label="Origins that may call from browsers"
        rows={3}
        isCode
        value={origins}
        onChange={setOrigins}
        isReadOnly={isReadOnly}
        problem={wrongOrigins}
        hint="One a line, like https://app.example; * lets every page call, but without credentials of its visitors. It concerns the ingress only."
      />
      <CheckField
        label="Pass authorization headers of other systems on to handlers"
        isOn={forwards}
        onChange={isReadOnly ? () => undefined : setForwards}
      />
      <p className="quiet small">A request may carry two: ours is always taken off. When this is off, every other one is, too.</p>
      {update.isError && <ProblemNote cause={update.error} title="It was not changed." />}
      <div className="row">
        <Button type="submit" look="primary" isBusy={update.isPending} forbidden={lacking}>
          Save
        </Button>
      </div>
    </form>
  );
}

function Endings() {
  const facts = useFacts();
  const life = useLifecycle(facts);
  if (facts.status === "DELETING") {
    return (
      <div className="card stack">
        <p>
          It is being deleted. Its data go {facts.erasedAt !== undefined && <Moment at={facts.erasedAt * 1_000} />}; until then an
          owner can bring it back.
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
        Suspended, it refuses calls and keeps everything; deleted, it is gone after seven days in which an owner can bring it
        back.
      </p>
      <div className="row">
        {facts.status === "ACTIVE" || facts.status === "PENDING" ? (
          <Button forbidden={life.forbidden.suspend} onClick={() => life.ask("suspend")}>
            Suspend …
          </Button>
        ) : (
          <ResumeButton subject={facts} />
        )}
        <Button look="danger" forbidden={life.forbidden.delete} onClick={() => life.ask("delete")}>
          Delete …
        </Button>
      </div>
      {life.dialogs}
    </div>
  );
}
