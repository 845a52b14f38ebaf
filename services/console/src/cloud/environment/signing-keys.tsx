/**
 * Services verify that requests are signed with this environment's key; the key can be rotated without a moment in which they refuse
 * requests.
 */
import { useState } from "react";
import { Badge, Button, Confirmation, Copyable, Moment, ProblemNote, Section, Snippet, useNow } from "../../kit/index.js";
import { useAccount, useForbidden } from "../account/account.js";
import { useCloudChange } from "../use-cloud.js";
import { useFacts } from "./facts.js";
import { identityKeys } from "./snippets.js";
import "./developers.css";

type RotationStep = "rotate" | "promote" | "retire";

const OPERATIONS = { rotate: "RotateSigningKey", promote: "PromoteSigningKey", retire: "RetireSigningKey" } as const;
const DONE: Readonly<Record<RotationStep, string>> = {
  rotate: "The next key is created: let your services accept both",
  promote: "Requests are signed with the new key",
  retire: "The previous key is retired",
};

const TITLES: Readonly<Record<RotationStep, string>> = {
  rotate: "Create the next key",
  promote: "Sign with the next key",
  retire: "Retire the previous key",
};

export function SigningKeys() {
  const { accountId } = useAccount();
  const facts = useFacts();
  const nowMs = useNow();
  const { environmentId, nextSigningPublicKey: next, previousSigningPublicKey: previous } = facts;
  const [pendingStep, setPendingStep] = useState<RotationStep>();
  const isEarly = previous !== undefined && (facts.previousRetirableAt ?? 0) * 1_000 > nowMs;
  const step = useCloudChange(
    (api, requestedStep: RotationStep) =>
      api.account(accountId, OPERATIONS[requestedStep], {
        environmentId,
        ...(requestedStep === "retire" && isEarly ? { force: true } : {}),
      }),
    { done: (_, requestedStep) => DONE[requestedStep], onDone: () => setPendingStep(undefined) },
  );
  const stage: RotationStep =
    next !== undefined && previous === undefined ? "promote" : previous !== undefined ? "retire" : "rotate";
  return (
    <Section title="Request signing">
      <div className="card stack">
        <p>
          Every request to your services is signed. An SDK that has the public key refuses all other requests. Public keys are not
          secret.
        </p>
        <KeyList />
        <Snippet label="identity keys for the SDK" text={identityKeys(facts.signingPublicKeys)} />
        <h3>Rotate the key</h3>
        <RotationSteps stage={stage} isEarly={isEarly} onStep={setPendingStep} />
      </div>
      <Confirmation
        title={TITLES[pendingStep ?? "retire"]}
        isOpen={pendingStep !== undefined}
        onClose={() => setPendingStep(undefined)}
        verb={pendingStep === "rotate" ? "Rotate" : pendingStep === "promote" ? "Promote" : "Retire"}
        isDanger={pendingStep !== "rotate"}
        isBusy={step.isPending}
        problem={step.isError && <ProblemNote cause={step.error} />}
        onConfirm={() => pendingStep !== undefined && step.mutate(pendingStep)}
      >
        {pendingStep !== undefined && <Consequences step={pendingStep} isEarly={isEarly} />}
      </Confirmation>
    </Section>
  );
}

function KeyList() {
  const { signingPublicKey, nextSigningPublicKey: next, previousSigningPublicKey: previous } = useFacts();
  return (
    <ul className="key-list">
      <li>
        <Badge tone="good">active</Badge> <Copyable text={signingPublicKey} label="the active public key" />
      </li>
      {next !== undefined && (
        <li>
          <Badge tone="info">next</Badge> <Copyable text={next} label="the next public key" />
        </li>
      )}
      {previous !== undefined && (
        <li>
          <Badge>previous</Badge> <Copyable text={previous} label="the previous public key" />
        </li>
      )}
    </ul>
  );
}

interface RotationStepsProps {
  /** The step that comes next. */
  readonly stage: RotationStep;
  /** Whether requests signed with the previous key may still be in flight. */
  readonly isEarly: boolean;
  readonly onStep: (step: RotationStep) => void;
}

function RotationSteps({ stage, isEarly, onStep }: RotationStepsProps) {
  const facts = useFacts();
  const mayNot = useForbidden("environments") ?? (facts.status === "DELETING" ? "The environment is being deleted" : undefined);
  const appearanceOf = (one: RotationStep) => (stage === one ? ("primary" as const) : ("quiet" as const));
  return (
    <ol className="steps">
      <li data-done={stage !== "rotate" || undefined}>
        <div className="stack stack--tight">
          <span>
            <strong>Rotate.</strong> Creates the next key. Nothing is signed with it yet.
          </span>
          <div className="row">
            <Button
              isSmall
              appearance={appearanceOf("rotate")}
              onClick={() => onStep("rotate")}
              forbidden={mayNot ?? (stage === "rotate" ? undefined : "Finish the current rotation first")}
            >
              Rotate
            </Button>
          </div>
        </div>
      </li>
      <li data-done={stage === "retire" || undefined}>
        <strong>Deploy.</strong> Let your services accept both keys, as in the snippet above. Official tunnel clients accept one
        key only: change theirs right after the next step.
      </li>
      <li data-done={stage === "retire" || undefined}>
        <div className="stack stack--tight">
          <span>
            <strong>Promote.</strong> From then on requests are signed with the next key; tunnels reconnect.
          </span>
          <div className="row">
            <Button
              isSmall
              appearance={appearanceOf("promote")}
              onClick={() => onStep("promote")}
              forbidden={
                mayNot ??
                (stage === "promote"
                  ? undefined
                  : stage === "rotate"
                    ? "No next key: rotate first"
                    : "Retire the previous key first")
              }
            >
              Promote
            </Button>
          </div>
        </div>
      </li>
      <li>
        <div className="stack stack--tight">
          <span>
            <strong>Retire.</strong> After a day no request signed with the previous key is in flight.
            {isEarly && facts.previousRetirableAt !== undefined && (
              <>
                {" "}
                That is <Moment at={facts.previousRetirableAt * 1_000} />.
              </>
            )}
          </span>
          <div className="row">
            <Button
              isSmall
              appearance={appearanceOf("retire")}
              onClick={() => onStep("retire")}
              forbidden={mayNot ?? (stage === "retire" ? undefined : "There is no previous key")}
            >
              {isEarly ? "Retire early" : "Retire"}
            </Button>
          </div>
        </div>
      </li>
    </ol>
  );
}

interface ConsequencesProps {
  readonly step: RotationStep;
  readonly isEarly: boolean;
}

function Consequences({ step, isEarly }: ConsequencesProps) {
  switch (step) {
    case "rotate":
      return <p>Services accept both keys as soon as they are configured with it. Nothing breaks.</p>;
    case "promote":
      return <p>Services that do not accept the next key yet refuse requests, which are retried until they do.</p>;
    case "retire":
      return (
        <p>
          {isEarly
            ? "The previous key signed requests less than a day ago: requests in flight, and services that accept only this key, may fail. Retire it early only when the key may have leaked."
            : "Remove it from your services, too: they need to accept only the new one."}
        </p>
      );
  }
}
