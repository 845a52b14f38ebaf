/** Starts a copy of an invocation from an entry of its journal, with edited results, in the environment or in a sandbox. */
import type { SandboxView } from "@perdure/admin-client";
import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { Button, CheckField, ChoiceField, Dialog, DialogActions, Icon, ProblemNote } from "../../kit/index.js";
import { DeploymentChoice } from "../invocation/deployment-choice.js";
import { useTimeline } from "../invocation/invocation-data.js";
import type { InvocationTimeline } from "../invocation/invocation-timeline.js";
import { STEP_PAGES_MAX } from "../invocation/limits.js";
import { useChange } from "../request.js";
import { EditFields } from "./edit-fields.js";
import {
  type ForkEditRow,
  type ForkFields,
  firstFields,
  forkOf,
  hasResult,
  keptChoices,
  newEdit,
  problemsOf,
  sandboxOf,
  stepLabel,
  withCut,
} from "./fork-form.js";
import { SandboxResult } from "./sandbox-result.js";
import { StubFields } from "./stub-fields.js";
import "./fork.css";

interface ForkDialogProps {
  readonly id: string;
  readonly target: string;
  readonly isWorkflow: boolean;
  /** The last entry that is kept. */
  readonly at: number;
  readonly onClose: () => void;
}

export function ForkDialog({ id, target, isWorkflow, at, onClose }: ForkDialogProps) {
  const { data: timeline } = useTimeline(id, STEP_PAGES_MAX);
  return (
    <Dialog title={`Fork ${target}`} isOpen onClose={onClose} isWide>
      {timeline === undefined ? (
        <p role="status">The steps are loading …</p>
      ) : (
        <ForkForm id={id} timeline={timeline} isWorkflow={isWorkflow} at={at} onClose={onClose} />
      )}
    </Dialog>
  );
}

interface ForkFormProps extends Omit<ForkDialogProps, "target"> {
  readonly timeline: InvocationTimeline;
}

function ForkForm({ id, timeline, isWorkflow, at, onClose }: ForkFormProps) {
  const [, navigate] = useLocation();
  const kept = keptChoices(timeline);
  const [fields, setFields] = useState<ForkFields>(() => ({
    ...firstFields(at, at === 0 ? undefined : kept.find(({ index }) => index === at)),
    isSandbox: isWorkflow,
  }));
  const [isTried, setTried] = useState(false);
  const problems = problemsOf(fields);
  const [sandbox, setSandbox] = useState<SandboxView>();
  const fork = useChange(({ admin }, start: ForkFields) => admin.invocations.fork(id, forkOf(start)), {
    done: () => "Forked",
    onDone: ({ new_invocation_id: forked }) => navigate(`/invocations/${encodeURIComponent(forked)}`),
  });
  const run = useChange(({ admin }, start: ForkFields) => admin.invocations.forkInSandbox(id, sandboxOf(start)), {
    onDone: setSandbox,
  });
  const failed = fields.isSandbox ? run : fork;
  const submit = () => {
    setTried(true);
    if (problems.size > 0) return;
    (fields.isSandbox ? run : fork).mutate(fields);
  };
  return (
    <div className="stack">
      <ChoiceField
        label="Keep the journal up to entry"
        value={String(fields.at)}
        choices={cutChoices(
          kept.map((step) => ({ value: String(step.index), label: stepLabel(step) })),
          fields.at,
        )}
        hint="The fork replays these entries with their results, and the handler continues behind them. This invocation stays unchanged."
        onChange={(value) => setFields(withCut(fields, Number(value)))}
      />
      <Edits id={id} timeline={timeline} fields={fields} onChange={setFields} problems={isTried ? problems : new Map()} />
      <DeploymentChoice
        value={fields.deployment}
        onChange={(deployment) => setFields({ ...fields, deployment })}
        keepLabel="The deployment of this invocation"
      />
      <CheckField
        label="Run in a sandbox: store nothing, and call no other handler"
        isOn={fields.isSandbox}
        onChange={(isSandbox) => setFields({ ...fields, isSandbox: isSandbox || isWorkflow })}
      />
      {isWorkflow && <p className="quiet small">A workflow runs once for its key: it can only be forked in a sandbox.</p>}
      {fields.isSandbox && (
        <StubFields
          stubs={fields.stubs}
          onChange={(stubs) => setFields({ ...fields, stubs })}
          problems={isTried ? problems : new Map()}
        />
      )}
      {failed.isError && <ProblemNote cause={failed.error} title="The invocation was not forked." />}
      <div aria-live="polite">
        {fields.isSandbox && sandbox !== undefined && !run.isPending && <SandboxResult source={id} result={sandbox} />}
      </div>
      <DialogActions>
        <Button onClick={onClose}>{sandbox === undefined ? "Cancel" : "Close"}</Button>
        <Button appearance="primary" isBusy={fork.isPending || run.isPending} onClick={submit}>
          {fields.isSandbox ? "Run in the sandbox" : "Fork"}
        </Button>
      </DialogActions>
    </div>
  );
}

type Choice = { readonly value: string; readonly label: string };

/** The chosen entry is listed also when its step is not among those that were read. */
function cutChoices(choices: readonly Choice[], at: number): readonly Choice[] {
  const isListed = choices.some(({ value }) => value === String(at));
  return isListed ? choices : [...choices, { value: String(at), label: `${at}` }];
}

interface EditsProps {
  readonly id: string;
  readonly timeline: InvocationTimeline;
  readonly fields: ForkFields;
  readonly onChange: (fields: ForkFields) => void;
  readonly problems: ReadonlyMap<string, string>;
}

function Edits({ id, timeline, fields, onChange, problems }: EditsProps) {
  const editable = keptChoices(timeline).filter((step) => step.index <= fields.at && hasResult(step));
  const free = editable.findLast(({ index }) => !fields.edits.some(({ step }) => step === index));
  const nextKey = useRef(fields.edits.length);
  const change = (edits: readonly ForkEditRow[]) => onChange({ ...fields, edits });
  return (
    <fieldset className="fork__edits stack stack--tight">
      <legend>Edited results</legend>
      {fields.edits.map((edit) => (
        <EditFields
          key={edit.key}
          id={id}
          edit={edit}
          steps={editable}
          problem={problems.get(`edit ${edit.key}`)}
          onChange={(next) => change(fields.edits.map((each) => (each.key === edit.key ? next : each)))}
          onRemove={() => change(fields.edits.filter((each) => each.key !== edit.key))}
        />
      ))}
      <div>
        <Button
          isSmall
          forbidden={free === undefined ? "Every kept step with a result is edited" : undefined}
          onClick={() => free !== undefined && change([...fields.edits, newEdit(nextKey.current++, free.index)])}
        >
          <Icon name="add" /> Edit a result
        </Button>
      </div>
    </fieldset>
  );
}
