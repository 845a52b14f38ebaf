/** Links to the next pages. */
import { Link } from "wouter";
import { useEnvironment } from "../environment.js";

const PLACES = [
  ["/state", "State", "Virtual objects and workflows keep values by key. Browse and edit them."],
  ["/schedules", "Schedules", "Let a handler be called every hour, or on the first Monday at nine."],
  ["/flow", "Rules and queues", "Limit concurrency and rate, and set priorities."],
  ["/sql", "SQL", "Query invocations, journals and state."],
] as const;

export function NextStep() {
  const { needsKey } = useEnvironment();
  return (
    <>
      <ul className="grid tour__places">
        {PLACES.map(([href, name, what]) => (
          <li key={href} className="card">
            <h3>
              <Link href={href}>{name}</Link>
            </h3>
            <p className="quiet">{what}</p>
          </li>
        ))}
      </ul>
      {!needsKey && (
        <p>
          To run it in the cloud: <code>perdure login</code> and <code>perdure link</code> connect the service on this machine to
          a cloud environment through a tunnel. The console is the same there.
        </p>
      )}
    </>
  );
}
