/** The signed-in user, their other sessions, and sign-out. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  Badge,
  Button,
  Confirmation,
  Dialog,
  Icon,
  Loaded,
  Menu,
  Moment,
  ProblemNote,
  Table,
  useToast,
} from "../../kit/index.js";
import type { SignedIn } from "../cloud-api.js";
import { useCloud, useCloudChange, useCloudRequest } from "../use-cloud.js";
import { useSession } from "./session-gate.js";

export function UserMenu() {
  const api = useCloud();
  const { user } = useSession();
  const toast = useToast();
  const [isShowing, setShowing] = useState(false);
  const signOut = useMutation({
    mutationFn: () => api.signOut(),
    onSuccess: () => location.assign("/login"),
    onError: (cause) => toast.failed("You could not be signed out", cause),
  });
  return (
    <>
      <Menu
        trigger={
          <Button className="place-button" isBusy={signOut.isPending} title={user.email}>
            <span className="place-button__text">{user.name ?? user.email}</span>
            <Icon name="fold-open" />
          </Button>
        }
        actions={[
          { label: "Sessions", onSelect: () => setShowing(true) },
          { label: "Password and profile", onSelect: () => location.assign("/profile") },
          { label: "Sign out", onSelect: () => signOut.mutate() },
        ]}
      />
      <Dialog title="Sessions" isOpen={isShowing} onClose={() => setShowing(false)} isWide>
        {isShowing && <Sessions />}
      </Dialog>
    </>
  );
}

function Sessions() {
  const sessions = useCloudRequest(["sessions"], (api, signal) => api.sessions(signal));
  const [ending, setEnding] = useState<SignedIn>();
  const end = useCloudChange((api, { sessionId }: SignedIn) => api.endSession(sessionId), {
    done: () => "The session is signed out",
    onDone: () => setEnding(undefined),
  });
  return (
    <Loaded query={sessions}>
      {(all) => (
        <>
          <Table
            label="Sessions"
            rows={all}
            keyOf={({ sessionId }) => sessionId}
            columns={[
              {
                name: "Device",
                cell: ({ kind, label, isCurrent }) => (
                  <>
                    {label ?? KINDS[kind] ?? kind} {isCurrent && <Badge tone="info">this session</Badge>}
                  </>
                ),
              },
              { name: "Address", cell: ({ remoteAddress }) => remoteAddress ?? "–" },
              { name: "Since", cell: ({ createdAt }) => <Moment at={createdAt * 1_000} /> },
              { name: "Ends", cell: ({ expiresAt }) => <Moment at={expiresAt * 1_000} /> },
              {
                name: "Actions",
                isNameHidden: true,
                cell: (one) => (
                  <Button
                    isSmall
                    onClick={() => setEnding(one)}
                    forbidden={one.isCurrent ? "This is the current session: use Sign out" : undefined}
                  >
                    Sign out session
                  </Button>
                ),
              },
            ]}
          />
          <Confirmation
            title="Sign out session"
            isOpen={ending !== undefined}
            onClose={() => setEnding(undefined)}
            verb="Sign out"
            isBusy={end.isPending}
            problem={end.isError && <ProblemNote cause={end.error} />}
            onConfirm={() => ending !== undefined && end.mutate(ending)}
          >
            <p>{ending?.label ?? "The browser or command line"} has to sign in again. Invocations that it started continue.</p>
          </Confirmation>
        </>
      )}
    </Loaded>
  );
}

const KINDS: Readonly<Record<string, string>> = { browser: "A browser", device: "A command line", cli: "A command line" };
