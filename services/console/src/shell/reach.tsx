/** Why: a server that is gone for a moment should not leave a page of failures: it says so once, waits, and goes on by itself. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Button } from "../kit/button.js";
import { setOutage } from "../kit/reach-state.js";
import { useToast } from "../kit/toast.js";
import { fetchServed, type Served } from "./served.js";
import "./reach.css";

/** Between two tries to reach it. */
const TRY_AGAIN_MS = 1_000;

type ReachState = Served["kind"];

export function ReachBanner() {
  const state = useReach();
  if (state === "same") return null;
  return (
    <div className="reach" role="status">
      {state === "unreachable" ? (
        <p>
          <strong>The server cannot be reached.</strong> The page shows the last known data and updates when the server is back.
        </p>
      ) : (
        <>
          <p>
            <strong>A newer version of the console is available.</strong> Parts of this page may not work until you reload.
          </p>
          <Button isSmall onClick={() => location.reload()}>
            Reload
          </Button>
        </>
      )}
    </div>
  );
}

function useReach(): ReachState {
  const queries = useQueryClient();
  const toast = useToast();
  const [state, setState] = useState<ReachState>("same");
  const [doubt, setDoubt] = useState(0);

  // No answer to a question raises the doubt; who is really gone is found out below.
  useEffect(() => {
    const wonder = () => setDoubt((n) => n + 1);
    const stop = queries.getQueryCache().subscribe(({ type, query }) => {
      if (type === "updated" && isNoAnswer(query.state.error)) wonder();
    });
    addEventListener("offline", wonder);
    addEventListener("online", wonder);
    return () => {
      stop();
      removeEventListener("offline", wonder);
      removeEventListener("online", wonder);
    };
  }, [queries]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: who tells of it is another function each time
  useEffect(() => {
    if (doubt === 0) return;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let wasGone = state === "unreachable";
    const poll = async () => {
      const { kind } = await fetchServed();
      if (isOver) return;
      setState(kind);
      setOutage(kind === "unreachable");
      if (kind === "unreachable") {
        wasGone = true;
        timer = setTimeout(() => void poll(), TRY_AGAIN_MS);
      } else if (wasGone) {
        toast.done("The server is back.");
        void queries.invalidateQueries();
      }
    };
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [doubt, queries]);

  return state;
}

/** Clients say status 0 when nobody answered. */
function isNoAnswer(cause: unknown): boolean {
  return (cause as { readonly status?: unknown } | null)?.status === 0;
}
