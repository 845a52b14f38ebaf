/** An error boundary: a page that throws does not break the others, and shows the error. */
import { Component, type ReactNode, useEffect, useState } from "react";
import { Button } from "../kit/button.js";
import { ProblemNote } from "../kit/problem.js";
import { fetchServed, type Served } from "./served.js";

interface Props {
  /** Place of the page. When it changes, the error is cleared: another page is open. */
  readonly place?: string;
  readonly children: ReactNode;
}

interface CatcherState {
  readonly cause: unknown;
  readonly place: string | undefined;
}

export class Catcher extends Component<Props, CatcherState> {
  override state: CatcherState = { cause: undefined, place: this.props.place };

  static getDerivedStateFromError(cause: unknown): Partial<CatcherState> {
    return { cause };
  }

  static getDerivedStateFromProps({ place }: Props, state: CatcherState): CatcherState | null {
    return place === state.place ? null : { cause: undefined, place };
  }

  override render(): ReactNode {
    const { cause } = this.state;
    if (cause === undefined) return this.props.children;
    return (
      <div className="page">
        {isMissingPart(cause) ? <MissingPart /> : <ProblemNote cause={cause} title="This page failed." />}
        <div className="row">
          <Button appearance="primary" onClick={() => location.reload()}>
            Reload
          </Button>
        </div>
      </div>
    );
  }
}

/** Messages of browsers when a file of the page cannot be loaded. */
const MISSING = /dynamically imported module|module script failed|unable to preload/i;

/** A file of the page could not be loaded. */
export function isMissingPart(cause: unknown): boolean {
  return cause instanceof Error && MISSING.test(cause.message);
}

/** A page is loaded when it is first opened. By then the server may be down, or may serve a newer console. */
function MissingPart() {
  const [served, setServed] = useState<Served["kind"]>();
  useEffect(() => {
    let isOver = false;
    void fetchServed().then(({ kind }) => {
      if (!isOver) setServed(kind);
    });
    return () => {
      isOver = true;
    };
  }, []);
  return (
    <div className="problem" role="alert">
      <p>
        <strong>This page could not be loaded.</strong> {reasonOf(served)}
      </p>
    </div>
  );
}

function reasonOf(served: Served["kind"] | undefined): string {
  if (served === "other") return "A newer version of the console is installed. Reload to continue.";
  if (served === "unreachable") return "The server cannot be reached. Reload when it is back.";
  return "A part of the console could not be loaded.";
}
