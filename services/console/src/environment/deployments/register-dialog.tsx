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
  const obstacle = address.trim() === "" ? "Say where it is first" : problem;
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
    <Dialog title="Register a deployment" isOpen onClose={onClose} isWide>
      <form onSubmit={submit} className="stack">
        <TextField
          label="Where it answers"
          hint="An address as the server reaches it, or the ARN of a version of a Lambda function"
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
          <CheckField
            label="Speak HTTP/1.1 with it: where something in between knows no HTTP/2"
            isOn={isHttp11}
            onChange={edited(setHttp11)}
          />
        )}
        <CheckField
          label="Check it first: replay journals of existing invocations against it, performing nothing"
          isOn={isChecked}
          onChange={edited(setChecked)}
        />
        <details>
          <summary>More</summary>
          <div className="stack deployments__more">
            <PairsField
              label="Headers"
              what="header"
              hint="Sent with every request to it, such as a credential. Values are not shown."
              pairs={headers}
              onChange={edited(setHeaders)}
              isSecret
            />
            <PairsField
              label="Metadata"
              what="pair"
              hint="Kept with it, such as a commit."
              pairs={metadata}
              onChange={edited(setMetadata)}
            />
            <CheckField label="Replace what is registered at this address" isOn={isForced} onChange={edited(setForced)} />
            <CheckField
              label="Also when handlers are gone, or the check finds invocations that would fail"
              isOn={isBreaking}
              onChange={edited(setBreaking)}
            />
          </div>
        </details>
        <div aria-live="polite" className="stack">
          {look.isPending && <p className="quiet">Asking it what it serves{isChecked ? ", and replaying journals" : ""} …</p>}
          {look.data !== undefined && <Plan registration={look.data.deployment} isNew={look.data.isNew} />}
          {cause !== null && (
            <>
              <ProblemNote cause={cause} title="It cannot be registered like this." />
              <Findings cause={cause} />
            </>
          )}
        </div>
        <DialogActions>
          <Button onClick={onClose}>Leave it</Button>
          <Button
            type="submit"
            look={look.data === undefined ? "primary" : "quiet"}
            isBusy={look.isPending}
            forbidden={isBusy ? undefined : obstacle}
          >
            Look what would change
          </Button>
          <Button
            look={look.data === undefined ? "quiet" : "primary"}
            isBusy={register.isPending}
            forbidden={isBusy ? undefined : (obstacle ?? (look.data === undefined ? "Look what would change first" : undefined))}
            onClick={() => register.mutate()}
          >
            Register it
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
