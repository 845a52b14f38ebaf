/** The steps of a bundle, with the beginnings of their values. */
import { durationText, Empty, Table } from "../../kit/index.js";
import {
  type InvocationTimeline,
  lengthOf,
  resultLabel,
  stepKind,
  stepName,
  type TimelineStep,
} from "../invocation/invocation-timeline.js";
import { inOneLine, valueOfPayload } from "../invocation/value-text.js";

const PREVIEW_CHARS = 200;

/** `chosen`: journal index of the step to show alone; all when undefined. */
export function BundleSteps({
  timeline,
  chosen,
}: {
  readonly timeline: InvocationTimeline;
  readonly chosen: number | undefined;
}) {
  const steps = timeline.steps.filter(({ index }) => chosen === undefined || index === chosen);
  return (
    <Table
      label="Journal entries"
      rows={steps}
      keyOf={({ index }) => String(index)}
      columns={[
        { name: "Entry", isNumber: true, cell: ({ index }) => String(index) },
        { name: "Step", cell: ({ view }) => `${stepKind(view.type)} ${stepName(view)}` },
        { name: "Value", isText: true, cell: ({ view }) => <code>{preview(view.payload)}</code> },
        { name: "Result", isText: true, cell: (step) => <Result step={step} /> },
        { name: "Offset", isNumber: true, cell: (step) => durationText(step.fromMs - timeline.span.fromMs) },
        { name: "Duration", isNumber: true, cell: (step) => (step.result === "pending" ? "…" : durationText(lengthOf(step))) },
      ]}
      empty={
        <Empty title="The journal is empty">
          <p>It was deleted before the bundle was written, or the invocation had not started.</p>
        </Empty>
      }
    />
  );
}

function Result({ step: { view, result } }: { readonly step: TimelineStep }) {
  if (result === "success") return <code>{preview(view.result_payload) || "done"}</code>;
  const failure = view.failure === null ? "" : `: ${view.failure.message}`;
  return (
    <span className={result === "failure" ? "inv-failed" : "quiet"}>
      {resultLabel(result)}
      {failure}
    </span>
  );
}

function preview(payload: TimelineStep["view"]["payload"]): string {
  return payload === null || payload === undefined ? "" : inOneLine(valueOfPayload(payload), PREVIEW_CHARS);
}
