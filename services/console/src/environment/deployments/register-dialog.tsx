/** Registers a deployment: discovers and checks it first, registers it then. */
import { findingsOf, type Registration, type RegistrationResult } from "@perdure/admin-client";
import { type FormEvent, useState } from "react";
import { Button, CheckField, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import { addressProblem, type NamedValue, recordOfPairs } from "./deployment-text.js";
import { PairsField } from "./pairs-field.js";
import { Plan } from "./plan.js";
import { VerificationNote } from "./verification-note.js";

export function RegisterDialog({ onClose }: { readonly onClose: () => void }) {
  const [address, setAddress] = useState("");
  const [isHttp11, setHttp11] = useState(false);
  const [role, setRole] = useState("");
  const [headers, setHeaders] = useState<readonly NamedValue[]>([]);
  const [metadata, setMetadata] = useState<readonly NamedValue[]>([]);
  const [isForced, setForced] = useState(false);
  const [isBreaking, setBreaking] = useState(false);
  const [isChecked, setChecked] = useState(true);
  const [headersSet, metadataSet] = [recordOfPairs(headers), recordOfPairs(metadata)];
  const isArn = address.trim().startsWith("arn:");
  const registration: Registration = {
    address: address.trim(),
    useHttp11: isHttp11,
    assumeRoleArn: role === "" ? undefined : role,
    ...(headersSet === undefined ? {} : { headers: headersSet }),
    ...(metadataSet === undefined ? {} : { metadata: metadataSet }),
    force: isForced,
    breaking: isBreaking,
    verify: isChecked,
  };
  const preview = useChange(({ admin }) => admin.deployments.register({ ...registration, dryRun: true }));
  const register = useChange(({ admin }) => admin.deployments.register(registration), {
    done: ({ deployment }: RegistrationResult) => `${deployment.id} is registered`,
    onDone: onClose,
  });
  const problem = addressProblem(address);
  const obstacle = address.trim() === "" ? "Enter the endpoint URL first" : problem;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    register.reset();
    if (obstacle === undefined) preview.mutate();
  };
  // A plan belongs to the input it was made for.
  const edited =
    <V,>(set: (value: V) => void) =>
    (value: V) => {
      set(value);
      preview.reset();
      register.reset();
    };
  const cause = register.error ?? preview.error;
  return (
    <Dialog title="Register deployment" isOpen onClose={onClose} isWide>
      <form onSubmit={submit} className="stack">
        <TextField
          label="Endpoint URL"
          hint="The URL as the server reaches it, or the ARN of a Lambda function version"
          placeholder="http://localhost:9080"
          value={address}
          onChange={edited(setAddress)}
          problem={problem}
          autoComplete="off"
          spellCheck={false}
          required
        />
        {isArn ? (
          <TextField
            label="Role to assume (ARN, optional)"
            value={role}
            onChange={edited(setRole)}
            autoComplete="off"
            spellCheck={false}
          />
        ) : (
          <CheckField label="Use HTTP/1.1, for proxies without HTTP/2" isOn={isHttp11} onChange={edited(setHttp11)} />
        )}
        <CheckField
          label="Verify compatibility first: replay journals of existing invocations against it, without side effects"
          isOn={isChecked}
          onChange={edited(setChecked)}
        />
        <MoreFields
          headers={headers}
          onHeaders={edited(setHeaders)}
          metadata={metadata}
          onMetadata={edited(setMetadata)}
          isForced={isForced}
          onForced={edited(setForced)}
          isBreaking={isBreaking}
          onBreaking={edited(setBreaking)}
        />
        <Outcome preview={preview} cause={cause} isChecked={isChecked} />
        <RegistrationButtons preview={preview} register={register} obstacle={obstacle} onClose={onClose} />
      </form>
    </Dialog>
  );
}

interface RegistrationButtonsProps {
  readonly preview: OutcomeProps["preview"];
  readonly register: { readonly isPending: boolean; readonly mutate: () => void };
  /** Why the input cannot be used; undefined when it can. */
  readonly obstacle: string | undefined;
  readonly onClose: () => void;
}

function RegistrationButtons({ preview, register, obstacle, onClose }: RegistrationButtonsProps) {
  const isBusy = preview.isPending || register.isPending;
  return (
    <DialogActions>
      <Button onClick={onClose}>Cancel</Button>
      <Button
        type="submit"
        appearance={preview.data === undefined ? "primary" : "quiet"}
        isBusy={preview.isPending}
        forbidden={isBusy ? undefined : obstacle}
      >
        Preview changes
      </Button>
      <Button
        appearance={preview.data === undefined ? "quiet" : "primary"}
        isBusy={register.isPending}
        forbidden={isBusy ? undefined : (obstacle ?? (preview.data === undefined ? "Preview changes first" : undefined))}
        onClick={() => register.mutate()}
      >
        Register
      </Button>
    </DialogActions>
  );
}

interface RegistrationFieldsProps {
  readonly headers: readonly NamedValue[];
  readonly onHeaders: (headers: readonly NamedValue[]) => void;
  readonly metadata: readonly NamedValue[];
  readonly onMetadata: (metadata: readonly NamedValue[]) => void;
  readonly isForced: boolean;
  readonly onForced: (isForced: boolean) => void;
  readonly isBreaking: boolean;
  readonly onBreaking: (isBreaking: boolean) => void;
}

function MoreFields(props: RegistrationFieldsProps) {
  const { headers, onHeaders, metadata, onMetadata, isForced, onForced, isBreaking, onBreaking } = props;
  return (
    <details>
      <summary>More</summary>
      <div className="stack deployments__more">
        <PairsField
          label="Headers"
          what="header"
          hint="Sent with every request to the endpoint, such as a credential. Values are hidden."
          pairs={headers}
          onChange={onHeaders}
          isSecret
        />
        <PairsField
          label="Metadata"
          what="pair"
          hint="Stored with the deployment, such as a commit."
          pairs={metadata}
          onChange={onMetadata}
        />
        <CheckField label="Overwrite the deployment at this URL" isOn={isForced} onChange={onForced} />
        <CheckField
          label="Even when handlers were removed, or the verification finds invocations that would fail"
          isOn={isBreaking}
          onChange={onBreaking}
        />
      </div>
    </details>
  );
}

interface OutcomeProps {
  readonly preview: { readonly isPending: boolean; readonly data: RegistrationResult | undefined };
  /** Why the deployment was refused; null when it was not. */
  readonly cause: unknown;
  readonly isChecked: boolean;
}

/** Shows the result of a preview, or the reason for which the deployment was refused. */
function Outcome({ preview, cause, isChecked }: OutcomeProps) {
  return (
    <div aria-live="polite" className="stack">
      {preview.isPending && <p className="quiet">Discovering its services{isChecked ? " and replaying journals" : ""} …</p>}
      {preview.data !== undefined && <Plan registration={preview.data.deployment} isNew={preview.data.isNew} />}
      {cause !== null && (
        <>
          <ProblemNote cause={cause} title="The deployment cannot be registered." />
          <Findings cause={cause} />
        </>
      )}
    </div>
  );
}

/** Details of a refusal with META0101. */
function Findings({ cause }: { readonly cause: unknown }) {
  const verification = findingsOf(cause);
  return verification === undefined ? null : <VerificationNote verification={verification} />;
}
