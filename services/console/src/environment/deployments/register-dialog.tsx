/** A deployment is made known: looked at and checked first, registered then. */
import {
  AdminApiError,
  type Registered,
  type Registration,
  type VerificationView,
  verificationShape,
} from "@perdure/admin-client";
import { type FormEvent, useState } from "react";
import { Button, CheckField, Dialog, DialogActions, isRecord, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../ask.js";
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
  const isArn = address.trim().startsWith("arn:");
  const wanted: Registration = {
    address: address.trim(),
    useHttp11: isHttp11,
    assumeRoleArn: role === "" ? undefined : role,
    ...optional("headers", recordOfPairs(headers)),
    ...optional("metadata", recordOfPairs(metadata)),
    force: isForced,
    breaking: isBreaking,
    verify: isChecked,
  };
  const look = useChange(({ admin }) => admin.deployments.register({ ...wanted, dryRun: true }));
  const register = useChange(({ admin }) => admin.deployments.register(wanted), {
    done: ({ deployment }: Registered) => `${deployment.id} is registered`,
    onDone: onClose,
  });
  const problem = addressProblem(address);
  const obstacle = address.trim() === "" ? "Enter the endpoint URL first" : problem;
  const isBusy = look.isPending || register.isPending;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    register.reset();
    if (obstacle === undefined) look.mutate();
  };
  // A plan is one of what was written then.
  const edited =
    <V,>(set: (value: V) => void) =>
    (value: V) => {
      set(value);
      look.reset();
      register.reset();
    };
  const cause = register.error ?? look.error;
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
        <details>
          <summary>More</summary>
          <div className="stack deployments__more">
            <PairsField
              label="Headers"
              what="header"
              hint="Sent with every request to the endpoint, such as a credential. Values are hidden."
              pairs={headers}
              onChange={edited(setHeaders)}
              isSecret
            />
            <PairsField
              label="Metadata"
              what="pair"
              hint="Stored with the deployment, such as a commit."
              pairs={metadata}
              onChange={edited(setMetadata)}
            />
            <CheckField label="Overwrite the deployment at this URL" isOn={isForced} onChange={edited(setForced)} />
            <CheckField
              label="Even when handlers were removed, or the verification finds invocations that would fail"
              isOn={isBreaking}
              onChange={edited(setBreaking)}
            />
          </div>
        </details>
        <div aria-live="polite" className="stack">
          {look.isPending && <p className="quiet">Discovering its services{isChecked ? " and replaying journals" : ""} …</p>}
          {look.data !== undefined && <Plan registration={look.data.deployment} isNew={look.data.isNew} />}
          {cause !== null && (
            <>
              <ProblemNote cause={cause} title="The deployment cannot be registered." />
              <Findings cause={cause} />
            </>
          )}
        </div>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look={look.data === undefined ? "primary" : "quiet"}
            isBusy={look.isPending}
            forbidden={isBusy ? undefined : obstacle}
          >
            Preview changes
          </Button>
          <Button
            look={look.data === undefined ? "quiet" : "primary"}
            isBusy={register.isPending}
            forbidden={isBusy ? undefined : (obstacle ?? (look.data === undefined ? "Preview changes first" : undefined))}
            onClick={() => register.mutate()}
          >
            Register
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Of a refusal with META0101. */
function Findings({ cause }: { readonly cause: unknown }) {
  const verification = findingsOf(cause);
  return verification === undefined ? null : <VerificationNote verification={verification} />;
}

function findingsOf(cause: unknown): VerificationView | undefined {
  if (!(cause instanceof AdminApiError) || !isRecord(cause.body)) return undefined;
  return verificationShape.safeParse(cause.body["verification"]).data;
}

function optional<K extends string, V>(name: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [P in K]?: V });
}
