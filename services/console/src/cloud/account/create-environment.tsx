/** A dialog creates an environment; it stays open until the environment runs, and shows the progress. */
import { type FormEvent, useEffect, useState } from "react";
import {
  Button,
  ChoiceField,
  DialogActions,
  Duration,
  messageOf,
  ProblemNote,
  TextArea,
  TextField,
  useNow,
} from "../../kit/index.js";
import type { EnvironmentDescription } from "../cloud-api.js";
import { useCloudChange } from "../use-cloud.js";
import { useAccount, useEnvironmentFacts } from "./account.js";
import { reasonOf } from "./environment-list.js";
import { nameProblem } from "./names.js";

type EnvironmentId = EnvironmentDescription["environmentId"];

interface CreateEnvironmentProps {
  /** Names there are. */
  readonly existingNames: readonly string[];
  readonly regions: readonly string[];
  readonly onClose: () => void;
  readonly onReady: (id: EnvironmentId) => void;
}

export function CreateEnvironment(props: CreateEnvironmentProps) {
  const [made, setMade] = useState<{ readonly id: EnvironmentId; readonly atMs: number }>();
  if (made === undefined) return <EnvironmentForm {...props} onMade={(id) => setMade({ id, atMs: Date.now() })} />;
  return <Progress {...made} onClose={props.onClose} onReady={props.onReady} />;
}

function EnvironmentForm({
  existingNames,
  regions,
  onClose,
  onMade,
}: CreateEnvironmentProps & { readonly onMade: (id: EnvironmentId) => void }) {
  const { accountId } = useAccount();
  const [name, setName] = useState(existingNames.includes("dev") ? "" : "dev");
  const [chosen, setRegion] = useState("");
  const [description, setDescription] = useState("");
  // Sent with every try of this dialog: pressing twice makes one environment.
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const region = chosen || (regions[0] ?? "");
  const problem = nameProblem(name, existingNames);
  const create = useCloudChange(
    (api) =>
      api.account(accountId, "CreateEnvironment", {
        name,
        region,
        idempotencyKey,
        ...(description.trim() === "" ? {} : { description: description.trim() }),
      }),
    { onDone: ({ environmentId }) => onMade(environmentId) },
  );
  const lacking = name === "" ? "Enter a name first" : (problem ?? (region === "" ? "Regions are still loading" : undefined));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (lacking === undefined && !create.isPending) create.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="Name"
        isCode
        value={name}
        onChange={setName}
        autoComplete="off"
        spellCheck={false}
        problem={problem}
        hint="1 to 40 of a–z, 0–9 and “-”. Profiles of the command line use this name."
      />
      <ChoiceField
        label="Region"
        value={region}
        choices={regions.map((value) => ({ value, label: regionName(value) }))}
        onChange={setRegion}
        hint="Where the environment runs and stores its data. It cannot be changed later."
      />
      <TextArea label="Description (optional)" rows={2} value={description} onChange={setDescription} />
      {create.isError && <ProblemNote cause={create.error} title="The environment was not created." />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" appearance="primary" isBusy={create.isPending} forbidden={lacking}>
          Create
        </Button>
      </DialogActions>
    </form>
  );
}

interface ProgressProps {
  readonly id: EnvironmentId;
  readonly atMs: number;
  readonly onClose: () => void;
  readonly onReady: (id: EnvironmentId) => void;
}

function Progress({ id, atMs, onClose, onReady }: ProgressProps) {
  const facts = useEnvironmentFacts(id);
  const nowMs = useNow();
  const { data } = facts;
  const status = data?.status ?? "PENDING";
  useEffect(() => {
    if (status === "ACTIVE") onReady(id);
  }, [status, id, onReady]);
  const failed = status === "FAILED" && data !== undefined ? (reasonOf(data) ?? "The reason is unknown.") : undefined;
  return (
    <div className="stack">
      <ol className="steps">
        <li data-done>Created with its own key pair, which signs requests to your services</li>
        <li>
          {failed === undefined ? (
            <span role="status">
              Starting its runtime … <Duration ms={Math.max(0, Math.floor((nowMs - atMs) / 1_000) * 1_000)} />
            </span>
          ) : (
            "Its runtime did not start"
          )}
        </li>
        <li>Opening its endpoints; its Developers tab opens next</li>
      </ol>
      {failed !== undefined && (
        <p className="note note--bad" role="alert">
          {failed}
        </p>
      )}
      {facts.isError && <p className="quiet">{messageOf(facts.error)}; retrying.</p>}
      <p className="quiet">It also starts when this dialog is closed.</p>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button onClick={() => onReady(id)}>Open environment</Button>
      </DialogActions>
    </div>
  );
}

const REGION_NAMES: Readonly<Record<string, string>> = { us: "us · United States", eu: "eu · Europe" };

function regionName(region: string): string {
  return REGION_NAMES[region] ?? region;
}
