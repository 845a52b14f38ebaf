/** Why: a failure says what happened, under which code, and what to do; the code leads to its page. */

import { Link } from "wouter";
import { Button } from "./button.js";
import { isRecord, problemOf } from "./problem-text.js";
import "./problem.css";

export { messageOf, problemOf } from "./problem-text.js";
export { isRecord };

export function ProblemNote({
  cause,
  title,
  onRetry,
}: {
  readonly cause: unknown;
  readonly title?: string;
  readonly onRetry?: () => void;
}) {
  const { message, code, advice, requestId } = problemOf(cause);
  return (
    <div className="problem" role="alert">
      <p>
        <strong>{title ?? "The request failed."}</strong> {message}
      </p>
      {advice !== undefined && <p className="small">{advice}</p>}
      <div className="row small">
        {code !== undefined && <ErrorCode code={code} />}
        {requestId !== undefined && <span className="quiet">request {requestId}</span>}
        {onRetry !== undefined && (
          <Button isSmall onClick={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

/** `RT0016`, leading to what it means. */
export function ErrorCode({ code }: { readonly code: string }) {
  // Catalogue codes have pages; strangers' codes are only words.
  if (!/^(META|RT|ING|TEN|STO|OPS)\d{4}$/.test(code)) return <code>{code}</code>;
  return (
    <Link href={`/errors/${code}`} className="code">
      {code}
    </Link>
  );
}
