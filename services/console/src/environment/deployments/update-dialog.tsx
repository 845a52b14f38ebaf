/** The same code at another address, or with other headers: invocations that began on it continue on it. */
import type { DeploymentChanges, DeploymentDetail } from "@perdure/admin-client";
import { type FormEvent, useState } from "react";
import { Button, CheckField, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import { addressOf, addressProblem, type NamedValue, recordOfPairs } from "./deployment-text.js";
import { PairsField } from "./pairs-field.js";

export function UpdateDialog({ deployment, onClose }: { readonly deployment: DeploymentDetail; readonly onClose: () => void }) {
  const [address, setAddress] = useState(addressOf(deployment));
  const [isHttp11, setHttp11] = useState(deployment.http_version === "HTTP/1.1");
  const [headers, setHeaders] = useState<readonly NamedValue[]>([]);
  const [isOverwriting, setOverwriting] = useState(false);
  const given = recordOfPairs(headers);
  const changes: DeploymentChanges = {
    address: address.trim(),
    ...(address.trim().startsWith("arn:") ? {} : { useHttp11: isHttp11 }),
    ...(given === undefined ? {} : { headers: given }),
    overwrite: isOverwriting,
  };
  const attempt = useChange(({ admin }) => admin.deployments.update(deployment.id, { ...changes, dryRun: true }));
  const update = useChange(({ admin }) => admin.deployments.update(deployment.id, changes), {
    done: () => `${deployment.id} is updated`,
    onDone: onClose,
  });
  const problem = address.trim() === "" ? "Enter the endpoint URL" : addressProblem(address);
  const cause = update.error ?? attempt.error;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.reset();
    if (problem === undefined) update.mutate();
  };
  return (
    <Dialog title={`Update ${deployment.id}`} isOpen onClose={onClose} isWide>
      <form onSubmit={submit} className="stack">
        <p>
          For the same code at another URL or with other credentials. Invocations in flight continue there at once. Register other
          code as a new deployment, so that invocations in flight finish on the old one.
        </p>
        <TextField
          label="Endpoint URL"
          value={address}
          onChange={setAddress}
          problem={problem}
          autoComplete="off"
          spellCheck={false}
        />
        {!address.trim().startsWith("arn:") && <CheckField label="Use HTTP/1.1" isOn={isHttp11} onChange={setHttp11} />}
        <PairsField
          label="Headers"
          what="header"
          hint="Replace the current headers. None here: the current headers stay."
          pairs={headers}
          onChange={setHeaders}
          isSecret
        />
        <CheckField label="Even when its services differ" isOn={isOverwriting} onChange={setOverwriting} />
        <div aria-live="polite">
          {attempt.data !== undefined && cause === null && (
            <p>
              The endpoint answers and serves {attempt.data.services.map(({ name }) => name).join(", ")}. Nothing was changed.
            </p>
          )}
          {cause !== null && <ProblemNote cause={cause} title="The deployment cannot be updated." />}
        </div>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button isBusy={attempt.isPending} forbidden={problem} onClick={() => attempt.mutate()}>
            Dry run
          </Button>
          <Button type="submit" appearance="primary" isBusy={update.isPending} forbidden={problem}>
            Update
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
