/** Why: a page that has nothing yet, or nothing at all, says so with care: what would be here and how it comes to be. */
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { ProblemNote } from "./problem.js";
import "./states.css";

/** Longer than any page of a server that is well. */
const LONG_MS = 3_000;

export function Loading({ what = "Loading" }: { readonly what?: string }) {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), LONG_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="loading" role="status">
      {isLong ? <span className="quiet small">Still loading …</span> : <span className="visually-hidden">{what} …</span>}
      <div className="loading__bar" />
      <div className="loading__bar" />
      <div className="loading__bar" />
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Waits, fails or shows; what is there stays while it is asked again, and a failure stands above it. */
export function Loaded<T>({ query, children }: { readonly query: UseQueryResult<T>; readonly children: (data: T) => ReactNode }) {
  const retry = () => void query.refetch();
  if (query.data !== undefined) {
    return (
      <>
        {query.isError && <ProblemNote cause={query.error} title="This page is out of date." onRetry={retry} />}
        {children(query.data)}
      </>
    );
  }
  return query.isError ? <ProblemNote cause={query.error} onRetry={retry} /> : <Loading />;
}
