/** Snippets that work as they are pasted: each has this environment's values. */
import { useId, useState } from "react";
import { Button, Section, Snippet } from "../../kit/index.js";
import { useSession } from "../session/session-gate.js";
import { useFacts } from "./facts.js";
import { KEY_VARIABLE, snippetsOf, trustPolicy } from "./snippets.js";
import "./developers.css";

export function Snippets() {
  const facts = useFacts();
  const { apiUrl } = useSession();
  const policy = trustPolicy(facts);
  const all = snippetsOf(facts, apiUrl);
  const shown = [
    ...all,
    ...(policy === undefined
      ? []
      : [
          {
            id: "iam",
            label: "AWS Lambda",
            about:
              "Trust policy of the role that invokes your functions: only for this environment. Register with --assume-role-arn.",
            text: policy,
          },
        ]),
  ];
  const [chosenId, choose] = useState("curl");
  const chosen = shown.find(({ id }) => id === chosenId) ?? shown[0];
  const panel = useId();
  if (chosen === undefined) return null;
  return (
    <Section title="Snippets">
      <div className="card stack">
        <fieldset className="row snippet-choice">
          <legend className="visually-hidden">Snippet</legend>
          {shown.map(({ id, label }) => (
            <Button
              key={id}
              isSmall
              aria-pressed={id === chosen.id}
              aria-controls={panel}
              onClick={() => choose(id)}
              className={id === chosen.id ? "snippet-choice__on" : ""}
            >
              {label}
            </Button>
          ))}
        </fieldset>
        <div id={panel} className="stack stack--tight">
          <p>{chosen.about}</p>
          <Snippet label={`the snippet for ${chosen.label}`} text={chosen.text} />
          <p className="quiet small">
            The key is in the variable <code>{KEY_VARIABLE}</code>: keep it out of shell histories and repositories.
          </p>
          {policy === undefined && (
            <p className="quiet small">AWS Lambda is not offered in this cloud: there is no trust policy.</p>
          )}
        </div>
      </div>
    </Section>
  );
}
