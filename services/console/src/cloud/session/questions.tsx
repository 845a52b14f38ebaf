/**
 * When a session has ended, or the user must prove their identity again, a dialog covers the page; the page keeps its contents and
 * continues afterwards.
 */
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button, Dialog, DialogActions, messageOf, ProblemNote, TextField } from "../../kit/index.js";
import { useCloud } from "../use-cloud.js";
import { useSession } from "./session-gate.js";
import { SIGNED_IN_PATH } from "./signed-in.js";
import "./session.css";

const RETURN = `?return=${encodeURIComponent(SIGNED_IN_PATH)}`;

export function SignInQuestion({ isLater, onCheck }: { readonly isLater: boolean; readonly onCheck: () => Promise<void> }) {
  const { client } = useCloud();
  const { user } = useSession();
  if (isLater) {
    return (
      <div className="session-bar" role="status">
        <span>You are signed out: this page may be out of date.</span>
        <Button isSmall onClick={() => client.remind()}>
          Sign in
        </Button>
      </div>
    );
  }
  return (
    <Dialog title="Your session has ended" isOpen onClose={() => client.answer(false)}>
      <div className="stack">
        <p>
          Sign in again as <strong>{user.email}</strong> in another window. This page keeps its contents and continues afterwards.
        </p>
        <DialogActions>
          <Button onClick={() => void onCheck()}>I have signed in</Button>
          <a className="button button--primary" href={`/login${RETURN}`} target="_blank" rel="noopener">
            Sign in
          </a>
        </DialogActions>
      </div>
    </Dialog>
  );
}

export function ConfirmQuestion() {
  const { client } = useCloud();
  const { confirmBy } = useSession();
  return (
    <Dialog title="Confirm your identity" isOpen onClose={() => client.answer(false)}>
      {confirmBy.password ? <PasswordForm /> : <ProviderWay provider={confirmBy.provider ?? "your provider"} />}
    </Dialog>
  );
}

function PasswordForm() {
  const api = useCloud();
  const { user } = useSession();
  const [password, setPassword] = useState("");
  const confirm = useMutation({ mutationFn: () => api.confirm(password) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (password !== "" && !confirm.isPending) confirm.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <p className="quiet">This action grants lasting access or cannot be undone. The confirmation is valid for 15 minutes.</p>
      {/* Password managers need the account name. */}
      <input
        className="visually-hidden"
        type="text"
        autoComplete="username"
        value={user.email}
        readOnly
        tabIndex={-1}
        aria-hidden
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        problem={confirm.isError ? messageOf(confirm.error) : undefined}
      />
      <DialogActions>
        <Button onClick={() => api.client.answer(false)}>Cancel</Button>
        <Button
          type="submit"
          appearance="primary"
          isBusy={confirm.isPending}
          forbidden={password === "" ? "Enter your password first" : undefined}
        >
          Confirm
        </Button>
      </DialogActions>
    </form>
  );
}

function ProviderWay({ provider }: { readonly provider: string }) {
  const { client } = useCloud();
  const check = useMutation({ mutationFn: () => client.refresh() });
  return (
    <div className="stack">
      <p>You sign in with {provider}: confirm your identity there, in another window. Your action continues afterwards.</p>
      {check.isError && <ProblemNote cause={check.error} />}
      <DialogActions>
        <Button isBusy={check.isPending} onClick={() => check.mutate()}>
          I have confirmed
        </Button>
        <a className="button button--primary" href={`/login/confirm${RETURN}`} target="_blank" rel="noopener">
          Confirm with {provider}
        </a>
      </DialogActions>
    </div>
  );
}
