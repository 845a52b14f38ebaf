/** When the state of an object expires, and a time to live of its own. Only virtual objects have one. */
import { AdminApiError, type KeyExpiry } from "@perdure/admin-client";
import { type FormEvent, useState } from "react";
import { Button, Dialog, DialogActions, Facts, Loaded, Moment, ProblemNote, Section, TextField } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { LIVE_MS, useChange, useRequest } from "../request.js";

interface ObjectPlace {
  readonly service: string;
  readonly key: string;
}

export function ExpirySection({ place: { service, key } }: { readonly place: ObjectPlace }) {
  const { forbidden } = useEnvironment();
  const [isEditing, setEditing] = useState(false);
  const expiry = useExpiry({ service, key });
  const close = () => setEditing(false);
  // Workflows keep their state for the retention of their run, and servers of an earlier release have no expiry.
  if (expiry.data === "none") return null;
  return (
    <Section
      title="Expiry"
      actions={
        <Button forbidden={forbidden} onClick={() => setEditing(true)}>
          Set time to live
        </Button>
      }
    >
      <Loaded query={expiry}>{(now) => (now === "none" ? null : <ExpiryFacts expiry={now.expiry} />)}</Loaded>
      {isEditing && expiry.data !== undefined && (
        <TtlDialog place={{ service, key }} expiry={expiry.data.expiry} onClose={close} />
      )}
    </Section>
  );
}

type ObjectExpiry = "none" | { readonly expiry: KeyExpiry | undefined };

function useExpiry({ service, key }: ObjectPlace) {
  return useRequest<ObjectExpiry>(
    ["expiry", service, key],
    async ({ admin }, signal) => {
      try {
        const { ty } = await admin.services.get(service, { signal });
        return ty === "VirtualObject" ? { expiry: await admin.state.expiry(service, key, { signal }) } : "none";
      } catch (cause) {
        if (cause instanceof AdminApiError && (cause.status === 404 || cause.status === 400)) return "none";
        throw cause;
      }
    },
    { everyMs: LIVE_MS },
  );
}

function ExpiryFacts({ expiry }: { readonly expiry: KeyExpiry | undefined }) {
  if (expiry === undefined) return <p className="quiet">The state of this key does not expire.</p>;
  return (
    <Facts
      facts={[
        ["Expires", <Moment key="expires" at={expiry.expires_at} />],
        ["Time to live", `${expiry.ttl}, ${expiry.ttl_source === "object" ? "of this key" : "of the service"}`],
        ["Changed", <Moment key="changed" at={expiry.changed_at} />],
      ]}
    />
  );
}

interface TtlDialogProps {
  readonly place: ObjectPlace;
  readonly expiry: KeyExpiry | undefined;
  readonly onClose: () => void;
}

function TtlDialog({ place: { service, key }, expiry, onClose }: TtlDialogProps) {
  const [ttl, setTtl] = useState(expiry?.ttl_source === "object" ? expiry.ttl : "");
  const [isTried, setTried] = useState(false);
  const change = useChange<string | null>(({ admin }, own) => admin.state.setTtl(service, key, own), {
    done: () => `Time to live of ${service}/${key} saved`,
    onDone: onClose,
  });
  const problem = ttl.trim() === "" ? "Enter a duration." : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problem === undefined) change.mutate(ttl.trim());
  };
  return (
    <Dialog title={`Time to live of ${key}`} isOpen onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>All entries of this key are removed when no handler changes them for this time. It begins now.</p>
        <TextField
          label="Time to live"
          hint="1s to 3650d. It goes before that of the service, and ends when the state has expired."
          value={ttl}
          onChange={setTtl}
          problem={isTried ? problem : undefined}
          placeholder="such as 30m, 1d 12h"
          autoComplete="off"
        />
        {change.isError && <ProblemNote cause={change.error} title="The time to live was not changed." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          {expiry?.ttl_source === "object" && (
            <Button isBusy={change.isPending} onClick={() => change.mutate(null)}>
              Use that of the service
            </Button>
          )}
          <Button type="submit" appearance="primary" isBusy={change.isPending}>
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
