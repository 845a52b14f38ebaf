/** States of a page without content: what would be here and how to create it. */
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { ProblemNote } from "./problem.js";
import "./states.css";

/** Time that no page of a healthy server needs. */
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

/** Loading, error or content; content stays while it is requested again, and an error is shown above it. */
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
