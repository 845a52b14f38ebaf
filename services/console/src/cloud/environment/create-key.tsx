/** The text of a key is shown in this dialog only, which closes when the user confirms that it is stored. */
import { type KeyRole, keyRoles } from "@perdure/cloud";
import { type FormEvent, useState } from "react";
import {
  Button,
  CheckField,
  ChoiceField,
  CopyButton,
  Dialog,
  DialogActions,
  ProblemNote,
  Snippet,
  TextField,
} from "../../kit/index.js";
import { useAccount } from "../account/account.js";
import type { CloudResponse } from "../cloud-api.js";
import { useCloudChange } from "../use-cloud.js";
import { useFacts } from "./facts.js";
import { EXPIRIES, type Expiry, expiresAt, KEY_ROLE_LABELS, rateProblem } from "./key-texts.js";
import { keyExport } from "./snippets.js";
import "./developers.css";

const ROLES = keyRoles.map((value) => ({ value, label: KEY_ROLE_LABELS[value].name }));

export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const [made, setMade] = useState<CloudResponse<"CreateApiKey">>();
  const [isStored, setStored] = useState(false);
  // Escape and a click beside the dialog do not close it: both happen easily by accident, and the text is never shown again.
  const close = made === undefined || isStored ? onClose : () => undefined;
  return (
    <Dialog title={made === undefined ? "Create API key" : "Your API key"} isOpen onClose={close}>
      {made === undefined ? (
        <KeyForm onClose={onClose} onMade={setMade} />
      ) : (
        <Shown made={made} isStored={isStored} onStored={setStored} onClose={onClose} />
      )}
    </Dialog>
  );
}

function KeyForm({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (key: CloudResponse<"CreateApiKey">) => void;
}) {
  const { accountId } = useAccount();
  const { environmentId } = useFacts();
  const [description, setDescription] = useState("");
  const [roleId, setRole] = useState<KeyRole>("rst:role::FullAccess");
  const [expiry, setExpiry] = useState<Expiry>("90");
  const [rate, setRate] = useState("");
  const problem = rateProblem(rate);
  const create = useCloudChange(
    (api) => {
      const ends = expiresAt(expiry, Date.now());
      return api.account(accountId, "CreateApiKey", {
        environmentId,
        roleId,
        ...(description.trim() === "" ? {} : { description: description.trim() }),
        ...(ends === undefined ? {} : { expiresAt: ends }),
        ...(rate === "" ? {} : { ratePerSecond: Number(rate) }),
      });
    },
    { onDone: onMade },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (problem === undefined && !create.isPending) create.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="Description"
        value={description}
        onChange={setDescription}
        maxLength={200}
        autoComplete="off"
        hint="For example which program uses the key."
      />
      <ChoiceField
        label="Role"
        value={roleId}
        choices={ROLES}
        onChange={setRole}
        hint={`Permissions: ${KEY_ROLE_LABELS[roleId].opens}.`}
      />
      <ChoiceField label="Expires" value={expiry} choices={EXPIRIES} onChange={setExpiry} />
      <TextField
        label="Requests per second (optional)"
        inputMode="numeric"
        value={rate}
        onChange={setRate}
        problem={problem}
        hint="Per endpoint. Empty: the limit of the environment."
      />
      {create.isError && <ProblemNote cause={create.error} title="The API key was not created." />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" appearance="primary" isBusy={create.isPending} forbidden={problem}>
          Create
        </Button>
      </DialogActions>
    </form>
  );
}

interface ShownProps {
  readonly made: CloudResponse<"CreateApiKey">;
  readonly isStored: boolean;
  readonly onStored: (isStored: boolean) => void;
  readonly onClose: () => void;
}

function Shown({ made, isStored, onStored, onClose }: ShownProps) {
  return (
    <div className="stack">
      <p className="note">Store the key now: it is shown only once.</p>
      <div className="row key-shown">
        <code data-testid="api-key">{made.apiKey}</code>
        <CopyButton text={made.apiKey} what="Copy the API key" />
      </div>
      <Snippet label="the key for a shell" text={keyExport(made.apiKey)} />
      <CheckField label="I have stored it" isOn={isStored} onChange={onStored} />
      <DialogActions>
        <Button
          appearance="primary"
          onClick={onClose}
          forbidden={isStored ? undefined : "Confirm first that you have stored the key"}
        >
          Done
        </Button>
      </DialogActions>
    </div>
  );
}
