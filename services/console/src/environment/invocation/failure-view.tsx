/** Shows a failure: its message, the meaning of its code, and the frames of the user's own code. */
import { useState } from "react";
import { Link } from "wouter";
import { Button, CopyButton, ErrorCode } from "../../kit/index.js";
import { FRAMES_SHOWN_MAX } from "./limits.js";

interface FailureViewProps {
  readonly message: string;
  readonly code?: string | undefined;
  readonly stack?: readonly string[];
  /** `Run 'pack it' (command 3)` */
  readonly step?: string | undefined;
  /** Link to that step. */
  readonly stepHref?: string | undefined;
}

export function FailureView({ message, code, stack = [], step, stepHref }: FailureViewProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? stack : stack.slice(0, FRAMES_SHOWN_MAX);
  const rest = stack.length - shown.length;
  return (
    <div className="inv-failure">
      <p>
        {code !== undefined && (
          <>
            <ErrorCode code={code} />{" "}
          </>
        )}
        <span className="inv-failed">{message}</span>
      </p>
      {step !== undefined && (
        <p className="small quiet">At {stepHref === undefined ? step : <Link href={stepHref}>{step}</Link>}.</p>
      )}
      {stack.length > 0 && (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
          <pre className="inv-stack" tabIndex={0}>
            {shown.join("\n")}
          </pre>
          <div className="row">
            {rest > 0 && (
              <Button isSmall appearance="bare" onClick={() => setWhole(true)}>
                {rest} more frames
              </Button>
            )}
            {isWhole && stack.length > FRAMES_SHOWN_MAX && (
              <Button isSmall appearance="bare" onClick={() => setWhole(false)}>
                Collapse stack
              </Button>
            )}
            <CopyButton text={`${message}\n${stack.join("\n")}`} what="Copy failure" />
          </div>
        </>
      )}
    </div>
  );
}
