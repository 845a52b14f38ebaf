/** A failure with its message, its code, and advice; the code links to its page. */

import { Fragment } from "react";
import { Link } from "wouter";
import { Button } from "./button.js";
import { isRecord, problemOf } from "./problem-text.js";
import { useOutage } from "./reach-state.js";
import "./problem.css";

export { messageOf } from "./problem-text.js";
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
  const { message, code, advice, requestId, isNoAnswer } = problemOf(cause);
  // The banner shows it, and the page requests again when the server is back.
  if (useOutage() && isNoAnswer && onRetry !== undefined) {
    return title === undefined ? (
      <p className="quiet" role="status">
        Waiting for the server …
      </p>
    ) : null;
  }
  return (
    <div className="problem" role="alert">
      <p>
        <strong>{title ?? "The request failed."}</strong> <Ticked text={message} />
      </p>
      {advice !== undefined && (
        <p className="small">
          <Ticked text={advice} />
        </p>
      )}
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

/** Text with the parts between backticks as code. */
function Ticked({ text }: { readonly text: string }) {
  return text.split(/`([^`]+)`/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
    <Fragment key={index}>{index % 2 === 1 ? <code>{part}</code> : part}</Fragment>
  ));
}

/** `RT0016`, with a link to its page. */
export function ErrorCode({ code }: { readonly code: string }) {
  // Codes of the catalogue have pages; other codes are plain text.
  if (!/^(META|RT|ING|TEN|STO|OPS)\d{4}$/.test(code)) return <code>{code}</code>;
  return (
    <Link href={`/errors/${code}`} className="code">
      {code}
    </Link>
  );
}
