/** An environment that does not run shows the reason and the possible actions, instead of a failure of each request. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Moment, Page } from "../../kit/index.js";
import type { EnvironmentDescription } from "../cloud-api.js";

interface NotRunningProps {
  readonly title: string;
  readonly badge: ReactNode;
  readonly reason: string | undefined;
  readonly facts: EnvironmentDescription;
  readonly action: ReactNode;
}

export function NotRunning({ title, badge, reason, facts, action }: NotRunningProps) {
  const { status, erasedAt } = facts;
  return (
    <Page
      title={title}
      heading={
        <>
          {title} {badge}
        </>
      }
      actions={action}
    >
      {reason !== undefined && (
        <p className={`note${status === "FAILED" ? " note--bad" : status === "PENDING" ? " note--info" : ""}`} role="status">
          {reason}
        </p>
      )}
      {status === "SUSPENDED" && (
        <p>
          Calls are refused and nothing runs; invocations, timers and state are kept and continue when the environment is resumed.
        </p>
      )}
      {status === "PENDING" && <p>This page opens as soon as the environment is active.</p>}
      {status === "DELETING" && erasedAt !== undefined && (
        <p>
          Data is erased <Moment at={erasedAt * 1_000} />. Until then an owner can restore it, without its API keys.
        </p>
      )}
      <p className="quiet">
        Available meanwhile: its <Link href="/developers">URLs and keys</Link> and <Link href="/settings">settings</Link>.
      </p>
    </Page>
  );
}
