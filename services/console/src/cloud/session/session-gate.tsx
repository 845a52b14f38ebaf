/** Shows no page of the cloud before the session is loaded, and shows the prompts that a session needs. */
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { Loaded, Loading } from "../../kit/index.js";
import { CloudApi } from "../cloud-api.js";
import { CloudContext, useCloud } from "../use-cloud.js";
import { ConfirmQuestion, SignInQuestion } from "./questions.js";
import { onRestored } from "./restored.js";
import { type ConsoleSession, fetchSession, SessionClient, type SessionQuestion } from "./session-client.js";
import { onSignedIn } from "./signed-in.js";

export function SessionGate({ children }: { readonly children: ReactNode }) {
  const first: UseQueryResult<ConsoleSession | null> = useQuery({
    queryKey: ["session"],
    queryFn: async ({ signal }) => {
      const session = await fetchSession(pageFetch, signal);
      if (session === undefined) location.assign(loginUrl());
      return session ?? null;
    },
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  // All data on the page belonged to the earlier user, so the session is requested again.
  useEffect(() => onRestored(window, () => location.reload()), []);
  // Null while the browser is on its way to the page of login.
  if (first.data) return <Inside session={first.data}>{children}</Inside>;
  return (
    <main className="page">
      <Loaded query={first}>{() => <Loading />}</Loaded>
    </main>
  );
}

/** The page's own `fetch` must be called on the window. */
const pageFetch: typeof fetch = (input, init) => fetch(input, init);

/** Links back here. */
function loginUrl(): string {
  return `/login?return=${encodeURIComponent(`${location.pathname}${location.search}`)}`;
}

function Inside({ session, children }: { readonly session: ConsoleSession; readonly children: ReactNode }) {
  const [api] = useState(
    () => new CloudApi(new SessionClient({ session, fetch: pageFetch, onUserChanged: () => location.assign("/") })),
  );
  return (
    <CloudContext value={api}>
      {children}
      <Questions />
    </CloudContext>
  );
}

/** The signed-in user, as last received. */
export function useSession(): ConsoleSession {
  const { client } = useCloud();
  return useSyncExternalStore(client.subscribe, () => client.session);
}

function Questions() {
  const { client } = useCloud();
  const queries = useQueryClient();
  const question: SessionQuestion | undefined = useSyncExternalStore(client.subscribe, () => client.question);
  const isOpen = question !== undefined;
  const recheck = useMemo(
    () => async () => {
      // Requests that failed meanwhile are repeated.
      if (!document.hidden && client.question !== undefined && (await client.refresh()) === "there")
        await queries.invalidateQueries();
    },
    [client, queries],
  );
  useEffect(() => {
    if (!isOpen) return;
    // A user who signed in in another window comes back to this one.
    const check = () => void recheck();
    window.addEventListener("focus", check);
    document.addEventListener("visibilitychange", check);
    const unsubscribe = onSignedIn(check);
    return () => {
      window.removeEventListener("focus", check);
      document.removeEventListener("visibilitychange", check);
      unsubscribe();
    };
  }, [isOpen, recheck]);
  if (question === undefined) return null;
  return question.kind === "confirm" ? <ConfirmQuestion /> : <SignInQuestion isLater={question.isLater} onCheck={recheck} />;
}
