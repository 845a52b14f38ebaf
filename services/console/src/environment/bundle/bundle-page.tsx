/** Shows a bundle from a file with the timeline and the steps of its invocation. The file stays in the browser. */
import type { BundleView } from "@perdure/admin-client";
import { type ReactNode, useCallback, useEffect, useId, useState } from "react";
import {
  Breakable,
  Button,
  Copyable,
  Empty,
  Facts,
  InvocationBadge,
  Moment,
  Page,
  ProblemNote,
  Section,
} from "../../kit/index.js";
import { FailureView } from "../invocation/failure-view.js";
import { readTimeline } from "../invocation/invocation-timeline.js";
import { LoadedTimeline } from "../invocation/timeline.js";
import "../invocation/invocation.css";
import { readBundleFile } from "./bundle-file.js";
import { BundleSteps } from "./bundle-steps.js";
import { onDropped, takeDropped } from "./dropped.js";

type OpenedFile =
  | { readonly kind: "nothing" }
  | { readonly kind: "bundle"; readonly name: string; readonly bundle: BundleView }
  | { readonly kind: "problem"; readonly name: string; readonly cause: unknown };

export default function BundlePage() {
  const [opened, setOpened] = useState<OpenedFile>({ kind: "nothing" });
  const open = useCallback((file: File | undefined) => {
    if (file === undefined) return;
    const { name } = file;
    readBundleFile(file).then(
      (bundle) => setOpened({ kind: "bundle", name, bundle }),
      (cause: unknown) => setOpened({ kind: "problem", name, cause }),
    );
  }, []);
  useEffect(() => {
    open(takeDropped());
    return onDropped(() => open(takeDropped()));
  }, [open]);
  if (opened.kind === "bundle") {
    return (
      <OpenBundle key={opened.name} name={opened.name} bundle={opened.bundle} onClose={() => setOpened({ kind: "nothing" })} />
    );
  }
  return (
    <Page title="Bundle">
      {opened.kind === "problem" && <ProblemNote cause={opened.cause} title={`${opened.name} cannot be shown.`} />}
      <Empty title="Open a bundle">
        <p>
          A bundle is the file of one invocation, from <em>Download bundle</em> on its page or from <code>perdure bundle</code>.
          Choose it here, or drop it on any page. It stays in this browser.
        </p>
        <FileField onFile={open} />
      </Empty>
    </Page>
  );
}

function FileField({ onFile }: { readonly onFile: (file: File | undefined) => void }) {
  const id = useId();
  return (
    <p>
      <label htmlFor={id}>Bundle file</label>{" "}
      <input id={id} type="file" accept=".gz,.json" onChange={(event) => onFile(event.target.files?.[0])} />
    </p>
  );
}

interface OpenBundleProps {
  readonly name: string;
  readonly bundle: BundleView;
  readonly onClose: () => void;
}

function OpenBundle({ name, bundle, onClose }: OpenBundleProps) {
  const [step, setStep] = useState<number>();
  // Links to called invocations would lead to this environment, which need not be that of the bundle.
  const view = { ...bundle.timeline, steps: bundle.timeline.steps.map((each) => ({ ...each, invocation_id: null })) };
  const timeline = readTimeline([view], view);
  const { invocation, error } = bundle;
  return (
    <Page
      title={timeline.target}
      heading={
        <span className="inv-heading">
          <span>
            <Breakable text={timeline.target} />
          </span>{" "}
          <InvocationBadge status={invocation.status} result={invocation.outcome ?? undefined} failure={error?.message} />
        </span>
      }
      actions={<Button onClick={onClose}>Close bundle</Button>}
    >
      <Facts facts={factsOf(name, bundle)} />
      {error !== null && (
        <Section title="Last failure">
          <FailureView
            message={error.message}
            code={error.restate_code === "" ? undefined : error.restate_code}
            stack={(error.stacktrace ?? "").split("\n").filter((line) => line.trim() !== "")}
          />
        </Section>
      )}
      <Section title="Timeline">
        <LoadedTimeline
          id={timeline.id}
          timeline={timeline}
          step={step}
          onStep={setStep}
          canLoad={false}
          onMore={ignore}
          onPages={ignore}
        />
      </Section>
      <Section title="Journal">
        <BundleSteps timeline={timeline} chosen={step} />
      </Section>
    </Page>
  );
}

function ignore(): void {
  // A bundle has no further pages.
}

function factsOf(
  name: string,
  { invocation, deployment, redaction, created_at, journal }: BundleView,
): readonly (readonly [string, ReactNode])[] {
  const missing = journal.length - journal.entries.length;
  return [
    ["Id", <Copyable key="id" text={invocation.id} label="the id" />],
    ["File", `${name}`],
    ["Written", <Moment key="written" at={created_at} />],
    ["Created", <Moment key="created" at={invocation.created_at} />],
    [
      "Deployment",
      deployment === null
        ? "None yet"
        : `${deployment.deployment_id}${deployment.endpoint === null ? "" : `, ${deployment.endpoint}`}`,
    ],
    ["SDK", deployment?.sdk ?? "Unknown"],
    ["Service protocol", deployment === null ? "None yet" : String(deployment.protocol_version)],
    ["Journal", `${journal.entries.length} entries${missing > 0 ? `, ${missing} were deleted` : ""}`],
    ["Redacted", redaction === null ? "Credentials in headers only" : `${redaction.changed} values`],
  ];
}
