/** Explains why an invocation does not progress: one sentence, the chain of invocations that wait for each other, and possible actions. */
import type { ExplanationView } from "@perdure/admin-client";
import type { InvocationVerb } from "@perdure/admin-contract";
import { useState } from "react";
import { Link } from "wouter";
import { Badge, Button, InvocationBadge } from "../../kit/index.js";
import { AnswerDialog } from "../awakeables/answer-dialog.js";
import { useEnvironment } from "../environment.js";
import { useChange } from "../request.js";
import { type RemedyAction, remedyOf } from "./action-rules.js";
import type { InvocationActions } from "./actions.js";
import { LinkedText } from "./linked-text.js";

interface ExplanationPanelProps {
  readonly id: string;
  readonly explanation: ExplanationView;
  readonly actions: InvocationActions;
}

export function ExplanationPanel({ id, explanation, actions }: ExplanationPanelProps) {
  const { sentence, chain, chain_is_cut, blocked_by, deadlock, deployment, status } = explanation;
  const remedies = explanation.remedies.map(remedyOf);
  return (
    <section className="card stack stack--tight" aria-labelledby="inv-why">
      <h2 id="inv-why" className="visually-hidden">
        Waiting for
      </h2>
      <p className="inv-sentence" aria-live="polite">
        <LinkedText text={sentence} except={id} />
      </p>
      {deadlock !== null && (
        <p>
          <Badge tone="bad">{deadlock.certain ? "deadlock" : "perhaps a deadlock"}</Badge> {deadlock.invocations.length}{" "}
          invocations wait for each other in a cycle.
        </p>
      )}
      {status !== "completed" && deployment.state !== "found" && (
        <p>
          <Badge tone="warn">{DEPLOYMENT_STATES[deployment.state] ?? deployment.state}</Badge>
        </p>
      )}
      {chain.length > 0 && (
        <ol className="inv-chain" aria-label="Chain of what it waits for">
          {chain.map((link) => (
            <li key={`${link.relation} ${link.id}`}>
              <span className="quiet">{RELATIONS[link.relation] ?? link.relation.replaceAll("_", " ")}</span>{" "}
              <Link href={`/invocations/${encodeURIComponent(link.id)}`}>{link.target ?? link.id}</Link>{" "}
              <InvocationBadge status={link.status} /> {link.id === blocked_by?.id && <Badge tone="warn">root cause</Badge>}
              {"sentence" in link && (
                <p className="small quiet">
                  <LinkedText text={link.sentence} except={link.id} />
                </p>
              )}
            </li>
          ))}
          {chain_is_cut && <li className="quiet">… and more: only the beginning of the chain is shown.</li>}
        </ol>
      )}
      {remedies.length > 0 && (
        <ul className="inv-remedies" aria-label="Suggested actions">
          {remedies.map((remedy) => (
            <li key={remedy.request}>
              <RemedyButton remedy={remedy} own={id} actions={actions} /> <span className="small quiet">{remedy.effect}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const DEPLOYMENT_STATES: Readonly<Record<string, string>> = {
  gone: "its deployment was removed",
  no_service: "no deployment serves it",
  handler_removed: "its handler was removed from the deployment",
};

const RELATIONS: Readonly<Record<string, string>> = {
  call: "called",
  attach: "attached to",
  lock_holder: "behind",
};

const LABELS: Readonly<Record<InvocationVerb, string>> = {
  cancel: "Cancel",
  kill: "Kill",
  pause: "Pause",
  resume: "Resume",
  purge: "Purge",
  "purge-journal": "Delete journal",
  "restart-as-new": "Restart as new",
};

function RemedyButton({
  remedy,
  own,
  actions,
}: {
  readonly remedy: RemedyAction;
  readonly own: string;
  readonly actions: InvocationActions;
}) {
  const { forbidden } = useEnvironment();
  const wake = useChange(({ admin }, queue: string) => admin.rules.setQueuePaused(queue, false), {
    done: () => "Queue resumed",
    failed: "The queue was not resumed",
  });
  switch (remedy.kind) {
    case "verb": {
      // Other invocations have pages of their own, which show what a cancellation affects.
      if (remedy.id !== own) {
        return (
          <Link className="button button--quiet button--small" href={`/invocations/${encodeURIComponent(remedy.id)}`}>
            {LABELS[remedy.verb]} the other invocation …
          </Link>
        );
      }
      const label = remedy.deployment === undefined ? LABELS[remedy.verb] : `${LABELS[remedy.verb]} on ${remedy.deployment}`;
      return (
        <Button
          isSmall
          isBusy={actions.isBusy(remedy.verb)}
          forbidden={actions.forbidden(remedy.verb)}
          onClick={() => actions.run(remedy.verb, remedy.deployment)}
        >
          {label}
        </Button>
      );
    }
    case "queue":
      return (
        <Button isSmall isBusy={wake.isPending} forbidden={forbidden} onClick={() => wake.mutate(remedy.queue)}>
          Resume the queue
        </Button>
      );
    case "awakeable":
      return <AnswerButton awakeable={remedy.awakeable} />;
    case "page":
      return (
        <Link className="button button--quiet button--small" href={remedy.href}>
          {remedy.label} …
        </Link>
      );
    case "words":
      return <code>{remedy.request}</code>;
  }
}

/** The completion is entered where the page shows what waits for it. */
function AnswerButton({ awakeable }: { readonly awakeable: string }) {
  const { forbidden } = useEnvironment();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button isSmall forbidden={forbidden} onClick={() => setOpen(true)}>
        Complete awakeable …
      </Button>
      {isOpen && <AnswerDialog id={awakeable} first="json" onClose={() => setOpen(false)} />}
    </>
  );
}
