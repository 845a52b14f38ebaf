/** The first steps of a user while nothing is registered yet. */
import { Link } from "wouter";
import { Snippet } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";

export function Welcome() {
  const { adminUrl, ingressUrl, needsKey } = useEnvironment();
  const key = needsKey ? ' -H "authorization: Bearer $PERDURE_TOKEN"' : "";
  const register = needsKey ? "perdure link" : `curl ${adminUrl}/deployments --json '{"uri": "http://localhost:9080"}'`;
  return (
    <div className="stack overview__welcome">
      <h2>No services registered yet</h2>
      <p>
        Perdure runs your functions, the handlers, to completion: every step is stored before the next one starts, and when a
        process dies they resume where they stopped. Run your first handler with three commands.
      </p>
      <ol className="stack">
        <li className="stack stack--tight">
          <span>Write a service, with a Restate SDK of any language. For TypeScript:</span>
          <Snippet label="the command that installs the SDK" text="npm init -y && npm install @restatedev/restate-sdk" />
        </li>
        <li className="stack stack--tight">
          <span>
            {needsKey
              ? "Serve it at port 9080, then connect it through a tunnel and register it:"
              : "Serve it at port 9080 and register it here:"}
          </span>
          <Snippet label="the command that registers" text={register} />
        </li>
        <li className="stack stack--tight">
          <span>Call it:</span>
          <Snippet label="the command that calls" text={`curl ${ingressUrl}/Greeter/greet${key} --json '"Ada"'`} />
        </li>
      </ol>
      <p>
        Or take <Link href="/tour">the tour</Link> with a service that crashes on request; or{" "}
        <Link href="/deployments?register=yes">register a deployment</Link> that already runs.
      </p>
    </div>
  );
}
