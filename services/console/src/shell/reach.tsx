/** Replaces a page of failures by one banner while a server cannot be reached for a moment; the page continues by itself. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Button } from "../kit/button.js";
import { problemOf } from "../kit/problem-text.js";
import { setOutage } from "../kit/reach-state.js";
import { useToast } from "../kit/toast.js";
import { fetchServed, type Served } from "./served.js";
import "./reach.css";

/** Pause between two attempts to reach the server. */
const TRY_AGAIN_MS = 1_000;

type ReachState = Served["kind"];

export function ReachBanner() {
  const state = useReach();
  if (state === "same") return null;
  return (
    <div className="reach" role="status">
      {state === "unreachable" ? (
        <p>
          <strong>The server cannot be reached.</strong> The page shows its last data and updates when the server is back.
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

  // A request without an answer raises the suspicion; the check below confirms it.
  useEffect(() => {
    const wonder = () => setDoubt((n) => n + 1);
    const stop = queries.getQueryCache().subscribe(({ type, query }) => {
      if (type === "updated" && problemOf(query.state.error).isNoAnswer) wonder();
    });
    addEventListener("offline", wonder);
    addEventListener("online", wonder);
    return () => {
      stop();
      removeEventListener("offline", wonder);
      removeEventListener("online", wonder);
    };
  }, [queries]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the reporting function differs on each render
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
