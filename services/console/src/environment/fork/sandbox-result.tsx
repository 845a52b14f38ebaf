/** What a fork did in a sandbox, beside what its source did. */
import type { SandboxView } from "@perdure/admin-client";
import { Badge, ErrorCode, Loaded } from "../../kit/index.js";
import { usePayloads } from "../invocation/invocation-data.js";
import { valueOfPayload } from "../invocation/value-text.js";
import { StepTree } from "./comparison-view.js";

export function SandboxResult({ source, result }: { readonly source: string; readonly result: SandboxView }) {
  const { outcome, steps, unsent } = result;
  const query = usePayloads(source, 0, "fork");
  return (
    <section className="card stack" aria-label="Outcome in the sandbox">
      <div className="row">
        <strong>Outcome</strong>
        <Badge tone={outcome.kind === "success" ? "good" : "bad"}>{outcome.kind === "success" ? "completed" : "failed"}</Badge>
        {outcome.restate_code !== null && <ErrorCode code={outcome.restate_code} />}
      </div>
      {outcome.kind === "failure" ? (
        <p>
          {outcome.code}: {outcome.message}
        </p>
      ) : (
        outcome.value !== null && <pre className="fork__value">{valueOfPayload(outcome.value).text}</pre>
      )}
      <Loaded query={query}>{(timeline) => <StepTree left={timeline.steps} right={steps} />}</Loaded>
      {unsent.length > 0 && (
        <div>
          <strong>Not sent</strong>
          <ul className="fork__unsent">
            {unsent.map(({ kind, target, answered_by: answer }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change
              <li key={index}>
                {kind} <code>{target}</code>
                {answer === "stub" && <span className="quiet"> with a result from the form</span>}
                {answer === "journal" && <span className="quiet"> with the result of this invocation</span>}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}
