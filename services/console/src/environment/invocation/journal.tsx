/** The journal of an invocation: every step with its value and result, in order, and below them the bytes as they are stored. */
import { Fragment, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { Button, Cell, durationText, Empty, Icon, Loaded, Section } from "../../kit/index.js";
import type { InvocationActions } from "./actions.js";
import { usePayloads } from "./invocation-data.js";
import {
  type InvocationTimeline,
  lengthOf,
  readTimeline,
  resultLabel,
  stepKind,
  stepName,
  type TimelineStep,
} from "./invocation-timeline.js";
import { JOURNAL_ROWS_MAX } from "./limits.js";
import { RawJournal } from "./raw-journal.js";
import { RestartFrom, StepValues } from "./step-details.js";
import { inOneLine, valueOfPayload } from "./value-text.js";

const PREVIEW_CHARS = 80;

export function Journal({ timeline, actions }: { readonly timeline: InvocationTimeline; readonly actions: InvocationActions }) {
  const [search, setSearch] = useSearchParams();
  const from = Math.max(0, Number.parseInt(search.get("entries") ?? "0", 10) || 0);
  const isRaw = search.get("journal") === "raw";
  const change = (name: string, value: string | undefined) =>
    setSearch((now) => {
      const next = new URLSearchParams(now);
      if (value === undefined) next.delete(name);
      else next.set(name, value);
      return next;
    });
  return (
    <Section
      title="Journal"
      actions={
        <div className="row">
          <Button isSmall className="inv-toggle" aria-pressed={!isRaw} onClick={() => change("journal", undefined)}>
            Steps
          </Button>
          <Button isSmall className="inv-toggle" aria-pressed={isRaw} onClick={() => change("journal", "raw")}>
            Raw
          </Button>
        </div>
      }
    >
      {isRaw ? (
        <RawJournal id={timeline.id} from={from} signature={signatureOf(timeline)} />
      ) : (
        <Steps
          timeline={timeline}
          from={from}
          actions={actions}
          onFrom={(index) => change("entries", index === 0 ? undefined : String(index))}
        />
      )}
    </Section>
  );
}

/** Changes when a step came or got its result. */
function signatureOf({ steps, isDone, status }: InvocationTimeline): string {
  return `${steps.length} ${steps.filter(({ result }) => result === "pending").length} ${isDone} ${status}`;
}

interface StepsProps {
  readonly timeline: InvocationTimeline;
  readonly from: number;
  readonly actions: InvocationActions;
  readonly onFrom: (index: number) => void;
}

function Steps({ timeline, from, actions, onFrom }: StepsProps) {
  const query = usePayloads(timeline.id, from, signatureOf(timeline));
  return (
    <Loaded query={query}>
      {(view) => {
        const { steps, nextStep } = readTimeline([view], view);
        const shown = steps.slice(0, JOURNAL_ROWS_MAX);
        const next = steps[JOURNAL_ROWS_MAX]?.index ?? nextStep;
        if (shown.length === 0) {
          return (
            <Empty title={from === 0 ? "The journal is empty" : "No further entries"}>
              <p>{timeline.isDone ? "The journal was deleted or not retained." : "Entries appear as the handler runs."}</p>
            </Empty>
          );
        }
        return (
          <>
            <StepTable timeline={timeline} steps={shown} actions={actions} />
            {(from > 0 || next !== undefined) && (
              <div className="row">
                <Button isSmall forbidden={from === 0 ? "This is the first page." : undefined} onClick={() => onFrom(0)}>
                  First entries
                </Button>
                <Button
                  isSmall
                  forbidden={next === undefined ? "This is the last page." : undefined}
                  onClick={() => next !== undefined && onFrom(next)}
                >
                  Later entries
                </Button>
              </div>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

interface StepTableProps {
  readonly timeline: InvocationTimeline;
  readonly steps: readonly TimelineStep[];
  readonly actions: InvocationActions;
}

function StepTable({ timeline, steps, actions }: StepTableProps) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const toggle = (index: number) =>
    setOpen((now) => {
      const next = new Set(now);
      if (!next.delete(index)) next.add(index);
      return next;
    });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
    <section className="table-room" tabIndex={0} aria-label="Journal entries">
      <table className="table inv-journal">
        <thead>
          <tr>
            <th scope="col" className="number">
              Entry
            </th>
            <th scope="col">Step</th>
            <th scope="col">Value</th>
            <th scope="col">Result</th>
            <th scope="col" className="number">
              At
            </th>
            <th scope="col" className="number">
              Took
            </th>
            <th scope="col">
              <span className="visually-hidden">Details</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <Fragment key={step.index}>
              <StepLine timeline={timeline} step={step} isOpen={open.has(step.index)} onToggle={() => toggle(step.index)} />
              {open.has(step.index) && (
                <tr className="inv-journal__more">
                  <td colSpan={7}>
                    <div className="stack stack--tight">
                      {step.view.failure !== null && (
                        <p className="inv-failed">
                          {step.view.failure.code}: {step.view.failure.message}
                        </p>
                      )}
                      <StepValues id={timeline.id} step={step} />
                      <div className="row">
                        <RestartFrom step={step} actions={actions} />
                      </div>
                    </div>
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface StepLineProps {
  readonly timeline: InvocationTimeline;
  readonly step: TimelineStep;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function StepLine({ timeline, step, isOpen, onToggle }: StepLineProps) {
  const { view, index, result } = step;
  return (
    <tr id={`entry-${index}`}>
      <Cell column="Entry" isNumber>
        {index}
      </Cell>
      <Cell column="Step">
        <span className="quiet">{stepKind(view.type)}</span>{" "}
        {view.invocation_id === null ? (
          stepName(view)
        ) : (
          <Link href={`/invocations/${encodeURIComponent(view.invocation_id)}`}>{stepName(view)}</Link>
        )}
      </Cell>
      <Cell column="Value" isCode>
        {preview(view.payload)}
      </Cell>
      <Cell column="Result">
        {result === "success" ? (
          <span className="code">{preview(view.result_payload) || <span className="inv-done">done</span>}</span>
        ) : (
          <span className={result === "failure" ? "inv-failed" : "quiet"}>
            {resultLabel(result)}
            {view.failure === null ? "" : `: ${view.failure.message}`}
          </span>
        )}
      </Cell>
      <Cell column="Offset" isNumber>
        <span className="nowrap">{durationText(step.fromMs - timeline.span.fromMs)}</span>
      </Cell>
      <Cell column="Duration" isNumber>
        <span className="nowrap">{result === "pending" ? "…" : durationText(lengthOf(step))}</span>
      </Cell>
      <Cell>
        <Button isSmall appearance="bare" aria-expanded={isOpen} aria-label={`Details of entry ${index}`} onClick={onToggle}>
          <Icon name={isOpen ? "fold-open" : "fold-closed"} />
        </Button>
      </Cell>
    </tr>
  );
}

function preview(payload: TimelineStep["view"]["payload"]): string {
  return payload === null || payload === undefined ? "" : inOneLine(valueOfPayload(payload), PREVIEW_CHARS);
}
