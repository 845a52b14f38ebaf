/** All actions on one invocation in one place: labels of buttons, confirmations, and messages afterwards. */
import type { InvocationVerb } from "@perdure/admin-contract";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Button, Confirmation, Icon, type IconName, Menu, type MenuAction } from "../../kit/index.js";
import { usePaletteSource } from "../../shell/palette-sources.js";
import { useEnvironment } from "../environment.js";
import { useUndoOffer } from "../operations/undo-message.js";
import { useChange } from "../request.js";
import { type ActionFacts, whyNot } from "./action-rules.js";
import { RESTARTED, RestartDialog } from "./restart-dialog.js";
import { ResumeDialog } from "./resume-dialog.js";

type ParameterlessVerb = Exclude<InvocationVerb, "resume" | "restart-as-new">;

export interface InvocationActions {
  /** Why the action is not possible now. */
  forbidden(verb: InvocationVerb): string | undefined;
  isBusy(verb: InvocationVerb): boolean;
  /**
   * Does it, or shows the confirmation first. `deployment`: of `resume`, at once. `from`: of `restart-as-new`, the last entry that is kept.
   */
  run(verb: InvocationVerb, deployment?: string, from?: number): void;
}

type PendingAction =
  | { readonly verb: "kill" | "purge" | "purge-journal" | "resume" }
  | { readonly verb: "restart-as-new"; readonly from: number };

interface ActionTarget {
  readonly id: string;
  readonly target: string;
  readonly facts: ActionFacts;
}

/** `dialogs` must be rendered once. */
export function useInvocationActions({ id, target, facts }: ActionTarget) {
  const { forbidden } = useEnvironment();
  const [pendingAction, setPendingAction] = useState<PendingAction>();
  const [, navigate] = useLocation();
  const close = () => setPendingAction(undefined);
  const offerUndo = useUndoOffer();
  const apply = useChange(({ admin }, verb: ParameterlessVerb) => admin.invocations.applyAsOperation(verb, id), {
    done: ({ outcome, operation }, verb) => (operation === undefined ? outcomeText(verb, outcome) : undefined),
    failed: "The action failed",
    onDone: ({ outcome, operation }, verb) => {
      close();
      if (operation !== undefined) offerUndo(outcomeText(verb, outcome), operation);
    },
  });
  const resume = useChange(({ admin }, deployment: string | undefined) => admin.invocations.resume(id, deployment), {
    done: (operation) => (operation === undefined ? "Resumed" : undefined),
    failed: "The invocation was not resumed",
    onDone: (operation) => {
      close();
      if (operation !== undefined) offerUndo("Resumed", operation);
    },
  });
  const { status, isWorkflow, journalSize } = facts;
  const busy = apply.isPending ? apply.variables : undefined;
  const actions = useMemo<InvocationActions>(
    () => ({
      forbidden: (verb) => forbidden ?? whyNot(verb, { status, isWorkflow, journalSize }),
      isBusy: (verb) => busy === verb || (verb === "resume" && resume.isPending),
      run: (verb, deployment, from = 0) => {
        if (verb === "restart-as-new") return setPendingAction({ verb, from });
        if (verb === "resume") return deployment === undefined ? setPendingAction({ verb }) : resume.mutate(deployment);
        return verb === "cancel" || verb === "pause" ? apply.mutate(verb) : setPendingAction({ verb });
      },
    }),
    [forbidden, status, isWorkflow, journalSize, busy, resume.isPending, resume.mutate, apply.mutate],
  );
  const dialogs = (
    <>
      <Confirmation
        title={`Kill ${target}?`}
        isOpen={pendingAction?.verb === "kill"}
        onClose={close}
        verb="Kill"
        isBusy={apply.isPending}
        onConfirm={() => apply.mutate("kill")}
      >
        <p>
          The invocation ends at once, and so does everything that it called. The handler cannot clean up. Use Cancel to let it
          run its compensations.
        </p>
      </Confirmation>
      <Confirmation
        title={`Purge ${target}?`}
        isOpen={pendingAction?.verb === "purge"}
        onClose={close}
        verb="Purge"
        isBusy={apply.isPending}
        onConfirm={() => apply.mutate("purge")}
      >
        <p>The result and the journal are deleted, and the same idempotency key starts a new invocation.</p>
      </Confirmation>
      <Confirmation
        title={`Delete the journal of ${target}?`}
        isOpen={pendingAction?.verb === "purge-journal"}
        onClose={close}
        verb="Delete journal"
        isBusy={apply.isPending}
        onConfirm={() => apply.mutate("purge-journal")}
      >
        <p>The result stays. The steps are deleted, and the invocation cannot be restarted any more.</p>
      </Confirmation>
      {pendingAction?.verb === "resume" && (
        <ResumeDialog
          id={id}
          status={status}
          onClose={close}
          isBusy={resume.isPending}
          onResume={(choice) => resume.mutate(choice)}
        />
      )}
      {pendingAction?.verb === "restart-as-new" && (
        <RestartDialog
          id={id}
          target={target}
          from={pendingAction.from}
          onClose={close}
          onRestarted={(copy, operation) => {
            close();
            if (operation !== undefined) offerUndo(RESTARTED, operation);
            navigate(`/invocations/${encodeURIComponent(copy)}`);
          }}
        />
      )}
    </>
  );
  return { actions, dialogs };
}

function outcomeText(verb: ParameterlessVerb, outcome: "done" | "accepted"): string {
  switch (verb) {
    case "cancel":
      return outcome === "done" ? "Cancelled before it started" : "Cancellation requested";
    case "kill":
      return "Killed";
    case "pause":
      return outcome === "done" ? "Paused" : "Pausing: the attempt is stopping";
    case "purge":
      return "Purged";
    case "purge-journal":
      return "Journal deleted";
  }
}

const PALETTE_ACTIONS: readonly (readonly [InvocationVerb, string])[] = [
  ["cancel", "Cancel"],
  ["pause", "Pause"],
  ["resume", "Resume"],
  ["restart-as-new", "Restart"],
  ["kill", "Kill"],
  ["purge", "Purge"],
];

const VERB_ICONS: Readonly<Record<InvocationVerb, IconName>> = {
  cancel: "cancel",
  pause: "pause",
  resume: "resume",
  "restart-as-new": "restart",
  kill: "kill",
  purge: "delete",
  "purge-journal": "purge",
};

interface ActionBarProps {
  readonly actions: InvocationActions;
  readonly isDone: boolean;
  /** First entries of the menu. */
  readonly more: readonly MenuAction[];
}

export function ActionBar({ actions, isDone, more }: ActionBarProps) {
  const button = (verb: InvocationVerb, label: string) => (
    <Button isBusy={actions.isBusy(verb)} forbidden={actions.forbidden(verb)} onClick={() => actions.run(verb)}>
      <Icon name={VERB_ICONS[verb]} /> {label}
    </Button>
  );
  const item = (verb: InvocationVerb, label: string, isDanger = true) => ({
    label,
    icon: VERB_ICONS[verb],
    isDanger,
    forbidden: actions.forbidden(verb),
    onSelect: () => actions.run(verb),
  });
  usePaletteSource(() =>
    PALETTE_ACTIONS.filter(([verb]) => actions.forbidden(verb) === undefined).map(([verb, label]) => ({
      kind: "Action",
      label: `${label} this invocation`,
      run: () => actions.run(verb),
    })),
  );
  return (
    <>
      {!isDone && button("pause", "Pause")}
      {!isDone && button("resume", "Resume …")}
      {!isDone && button("cancel", "Cancel")}
      {isDone && button("restart-as-new", "Restart as new …")}
      <Menu
        trigger={
          <Button aria-label="More actions">
            More <Icon name="fold-open" />
          </Button>
        }
        actions={[
          ...more,
          ...(isDone
            ? [item("cancel", "Cancel", false), item("pause", "Pause", false)]
            : [item("restart-as-new", "Restart as new …", false)]),
          item("kill", "Kill …"),
          item("purge-journal", "Delete journal …"),
          item("purge", "Purge …"),
        ]}
      />
    </>
  );
}
