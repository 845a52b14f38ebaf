/**
 * The first page after sign-in: the only account of a user who has one, a choice for a user with several, a beginning for a user with none.
 */
import { type FormEvent, useState } from "react";
import { Link, Redirect, useLocation } from "wouter";
import { Button, Dialog, DialogActions, Loaded, Page, ProblemNote, TextField } from "../kit/index.js";
import { useAccounts } from "./account/account.js";
import { accountPath } from "./places.js";
import { UserMenu } from "./session/user-menu.js";
import { useCloudChange } from "./use-cloud.js";
import "./cloud.css";

/** `mayLeave`: continues by itself where there is only one choice. */
export function Home({ mayLeave = false }: { readonly mayLeave?: boolean }) {
  const accounts = useAccounts();
  const [isCreating, setCreating] = useState(false);
  return (
    <main className="cloud-alone">
      <Loaded query={accounts}>
        {(all) => {
          const [only] = all;
          if (mayLeave && all.length === 1 && only !== undefined) return <Redirect to={accountPath(only.accountId)} replace />;
          return (
            <Page
              title="Accounts"
              lead="An account has members, environments and a plan."
              actions={
                <>
                  <Button appearance="primary" onClick={() => setCreating(true)}>
                    Create account
                  </Button>
                  <UserMenu />
                </>
              }
            >
              {all.length === 0 && <p>You are not a member of any account. Create one, or request an invitation.</p>}
              <ul className="cards">
                {all.map(({ accountId, name, description, role, planId }) => (
                  <li key={accountId} className="card">
                    <Link href={accountPath(accountId)}>
                      <strong>{name}</strong>
                    </Link>
                    {description !== undefined && description !== "" && <span>{description}</span>}
                    <span className="quiet small">
                      you are {role} · plan {planId}
                    </span>
                  </li>
                ))}
              </ul>
              <Dialog title="Create account" isOpen={isCreating} onClose={() => setCreating(false)}>
                {isCreating && <CreateAccount onClose={() => setCreating(false)} />}
              </Dialog>
            </Page>
          );
        }}
      </Loaded>
    </main>
  );
}

function CreateAccount({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [, go] = useLocation();
  const create = useCloudChange((api, accountName: string) => api.user("CreateAccount", { name: accountName }), {
    onDone: ({ accountId }) => go(accountPath(accountId)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "" && !create.isPending) create.mutate(name.trim());
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField label="Name" value={name} onChange={setName} maxLength={100} hint="Name of your team or company." />
      {create.isError && <ProblemNote cause={create.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          appearance="primary"
          isBusy={create.isPending}
          forbidden={name.trim() === "" ? "Enter a name first" : undefined}
        >
          Create
        </Button>
      </DialogActions>
    </form>
  );
}
