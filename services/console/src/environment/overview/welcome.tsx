/** What somebody does first, where nothing is registered yet. */
import { Link } from "wouter";
import { Snippet } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";

export function Welcome() {
  const { adminUrl, ingressUrl, needsKey } = useEnvironment();
  const key = needsKey ? ' -H "authorization: Bearer $PERDURE_TOKEN"' : "";
  const register = needsKey ? "perdure link" : `curl ${adminUrl}/deployments --json '{"uri": "http://localhost:9080"}'`;
  return (
    <div className="stack overview__welcome">
      <h2>Nothing is registered here yet</h2>
      <p>
        Perdure runs functions of yours, its handlers, to their end: every step is stored before the next one begins, and when a
        process dies they go on where they were. Three commands, and the first one runs.
      </p>
      <ol className="stack">
        <li className="stack stack--tight">
          <span>Write a service, with a Restate SDK of any language. For TypeScript:</span>
          <Snippet label="the command that installs the SDK" text="npm init -y && npm install @restatedev/restate-sdk" />
        </li>
        <li className="stack stack--tight">
          <span>
            {needsKey
              ? "Serve it at port 9080, then bring it here through a tunnel and make it known:"
              : "Serve it at port 9080, and make it known here:"}
          </span>
          <Snippet label="the command that registers" text={register} />
        </li>
        <li className="stack stack--tight">
          <span>Call it:</span>
          <Snippet label="the command that calls" text={`curl ${ingressUrl}/Greeter/greet${key} --json '"Ada"'`} />
        </li>
      </ol>
      <p>
        Or let <Link href="/tour">the tour</Link> show it, with a service that crashes on request; or{" "}
        <Link href="/deployments?register=yes">register a deployment</Link> that is there already.
      </p>
    </div>
  );
}
