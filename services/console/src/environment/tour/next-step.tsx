/** Where to go from here. */
import { Link } from "wouter";
import { useEnvironment } from "../environment.js";

const PLACES = [
  ["/state", "State", "Objects and workflows keep values by key. Look at them, and change them."],
  ["/schedules", "Schedules", "Let a handler be called every hour, or on the first Monday at nine."],
  ["/flow", "Rules and queues", "How many run at once, how often, and who goes first."],
  ["/sql", "SQL", "Ask about everything that runs, waits or has failed."],
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
          When it should run for others: <code>perdure login</code> and <code>perdure link</code> bring the service on this
          machine into an environment of the cloud, through a tunnel. This console looks the same there.
        </p>
      )}
    </>
  );
}
