/** The number of invocations in each state except the final ones; each number links to them. */
import { Link } from "wouter";
import { InvocationBadge } from "../../kit/index.js";
import { invocationsHref } from "../invocations-link.js";
import { LIVE_STATUSES, type StatusCounts } from "./figures.js";

export function CountCards({ counts }: { readonly counts: StatusCounts }) {
  return (
    <ul className="overview__counts">
      {LIVE_STATUSES.map((status) => (
        <li key={status}>
          <Link
            href={invocationsHref({ statuses: [status] })}
            className={`card overview__count${counts[status] === 0 ? " overview__count--none" : ""}`}
          >
            <span className="overview__number">{counts[status].toLocaleString()}</span>
            <InvocationBadge status={status} />
          </Link>
        </li>
      ))}
    </ul>
  );
}
