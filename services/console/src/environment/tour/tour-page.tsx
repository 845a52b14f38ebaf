/**
 * The tour demonstrates durable execution in a few minutes with a service of the user: its process is killed in the middle of its work, and
 * the work continues where it was.
 */
import { useMemo } from "react";
import { Button, Page } from "../../kit/index.js";
import { useRequest } from "../request.js";
import { CallStep } from "./call-step.js";
import { CrashStep } from "./crash-step.js";
import { callablesOf } from "./handlers.js";
import { NextStep } from "./next-step.js";
import { StartStep } from "./start-step.js";
import { Step } from "./step.js";
import { useProgress } from "./use-progress.js";
import "./tour.css";

/** Poll interval for deployments that are registered elsewhere, in a terminal. */
const POLL_MS = 2_000;

export default function TourPage() {
  const { progress, note, begin } = useProgress();
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }), { everyMs: POLL_MS });
  const callables = useMemo(() => callablesOf(services.data ?? []), [services.data]);
  const isRegistered = callables.length > 0;
  const hasCalled = progress.calledId !== undefined;
  const hasSurvived = progress.crash?.isSurvived === true;
  const hasBegun = hasCalled || progress.crash !== undefined;
  return (
    <Page
      title="Getting started"
      lead="Start a service, call it, crash it in the middle of its work, and watch it resume where it stopped."
      actions={hasBegun ? <Button onClick={begin}>Start over</Button> : undefined}
    >
      <ol className="tour">
        <Step number={1} title="Start a service" isDone={isRegistered}>
          <StartStep query={services} progress={progress} note={note} />
        </Step>
        <Step number={2} title="Call a handler" isDone={hasCalled} waitsFor={isRegistered ? undefined : "a registered service"}>
          <CallStep callables={callables} progress={progress} note={note} />
        </Step>
        <Step number={3} title="Crash it" isDone={hasSurvived} waitsFor={isRegistered ? undefined : "a registered service"}>
          <CrashStep callables={callables} progress={progress} note={note} />
        </Step>
        <Step number={4} title="What next" isDone={false}>
          <NextStep />
        </Step>
      </ol>
    </Page>
  );
}
