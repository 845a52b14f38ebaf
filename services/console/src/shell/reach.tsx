/** Why: a server that is gone for a moment should not leave a page of failures: it says so once, waits, and goes on by itself. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Button } from "../kit/button.js";
import { useTell } from "../kit/toast.js";
import { askServed, type Served } from "./served.js";
import "./reach.css";

/** Between two tries to reach it. */
const TRY_AGAIN_MS = 1_000;

type State = Served["kind"];

export function ReachBanner() {
  const state = useReach();
  if (state === "same") return null;
  return (
    <div className="reach" role="status">
      {state === "nobody" ? (
        <p>
          <strong>The server does not answer.</strong> What you see is what it said last. This page goes on as soon as it is back.
        </p>
      ) : (
        <>
          <p>
            <strong>There is a newer console.</strong> This page is from before; parts of it may be missing now.
          </p>
          <Button isSmall onClick={() => location.reload()}>
            Load it again
          </Button>
        </>
      )}
    </div>
  );
}

function useReach(): State {
  const queries = useQueryClient();
  const tell = useTell();
  const [state, setState] = useState<State>("same");
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
    let wasGone = state === "nobody";
    const look = async () => {
      const { kind } = await askServed();
      if (isOver) return;
      setState(kind);
      if (kind === "nobody") {
        wasGone = true;
        timer = setTimeout(() => void look(), TRY_AGAIN_MS);
      } else if (wasGone) {
        tell.done("The server is back.");
        void queries.invalidateQueries();
      }
    };
    void look();
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
