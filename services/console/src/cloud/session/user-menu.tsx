/** Why: who is signed in, where else, and the way out. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Badge, Button, Confirmation, Dialog, Loaded, Menu, Moment, ProblemNote, Table, useTell } from "../../kit/index.js";
import type { SignedIn } from "../cloud-api.js";
import { useCloud, useCloudAsk, useCloudChange } from "../use-cloud.js";
import { useSession } from "./session-gate.js";

export function UserMenu() {
  const api = useCloud();
  const { user } = useSession();
  const tell = useTell();
  const [isShowing, setShowing] = useState(false);
  const signOut = useMutation({
    mutationFn: () => api.signOut(),
    onSuccess: () => location.assign("/login"),
    onError: (cause) => tell.failed("You are still signed in", cause),
  });
  return (
    <>
      <Menu
        trigger={
          <Button className="place-button" isBusy={signOut.isPending} title={user.email}>
            <span className="place-button__text">{user.name ?? user.email}</span>
            <span aria-hidden>▾</span>
          </Button>
        }
        actions={[
          { label: "Where you are signed in", onSelect: () => setShowing(true) },
          { label: "Password and profile", onSelect: () => location.assign("/profile") },
          { label: "Sign out", onSelect: () => signOut.mutate() },
        ]}
      />
      <Dialog title="Where you are signed in" isOpen={isShowing} onClose={() => setShowing(false)} isWide>
        {isShowing && <Sessions />}
      </Dialog>
    </>
  );
}

function Sessions() {
  const sessions = useCloudAsk(["sessions"], (api, signal) => api.sessions(signal));
  const [ending, setEnding] = useState<SignedIn>();
  const end = useCloudChange((api, { sessionId }: SignedIn) => api.endSession(sessionId), {
    done: () => "They are signed out there",
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
                name: "What",
                cell: ({ kind, label, isCurrent }) => (
                  <>
                    {label ?? KINDS[kind] ?? kind} {isCurrent && <Badge tone="info">here</Badge>}
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
                    forbidden={one.isCurrent ? "This is the one you look with: sign out instead" : undefined}
                  >
                    Sign out there
                  </Button>
                ),
              },
            ]}
          />
          <Confirmation
            title="Sign out there"
            isOpen={ending !== undefined}
            onClose={() => setEnding(undefined)}
            verb="Sign out"
            isBusy={end.isPending}
            problem={end.isError && <ProblemNote cause={end.error} />}
            onConfirm={() => ending !== undefined && end.mutate(ending)}
          >
            <p>{ending?.label ?? "That browser or command line"} has to sign in again. What it has begun goes on.</p>
          </Confirmation>
        </>
      )}
    </Loaded>
  );
}

const KINDS: Readonly<Record<string, string>> = { browser: "A browser", device: "A command line", cli: "A command line" };
