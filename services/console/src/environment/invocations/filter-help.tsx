/** The field takes an SQL condition; the help lists the columns that are used most, and links to the list of all. */
import { Link } from "wouter";
import { Button, Dialog } from "../../kit/index.js";

const EXAMPLES = [
  ["target_service_name = 'Orders'", "of one service"],
  ["target LIKE 'Orders/%/approve'", "of one handler of an object, for all keys"],
  ["retry_count > 3", "attempts so far"],
  ["last_failure LIKE '%timeout%'", "the last failure of retrying invocations"],
  ["completion_failure LIKE '%card declined%'", "the failure of completed invocations"],
  ["created_at > now() - INTERVAL '15 minutes'", "created lately"],
  ["status = 'suspended' AND modified_at < now() - INTERVAL '1 day'", "waiting for more than a day"],
  ["invoked_by_target = 'Checkout/run'", "called by a handler"],
  ["idempotency_key = 'order-17'", "by idempotency key"],
] as const;

interface FilterHelpProps {
  readonly onClose: () => void;
  readonly onChoose: (condition: string) => void;
}

export function FilterHelp({ onClose, onChoose }: FilterHelpProps) {
  return (
    <Dialog title="Filter expressions" isOpen onClose={onClose} isWide>
      <p>
        The filter is a SQL condition on the columns of <code>sys_invocation</code>; combine conditions with <code>AND</code>,{" "}
        <code>OR</code> and <code>NOT</code>. The id of an invocation opens its page.
      </p>
      <ul className="runs-help">
        {EXAMPLES.map(([condition, text]) => (
          <li key={condition}>
            <code>{condition}</code> <span className="quiet">{text}</span>{" "}
            <Button isSmall aria-label={`Use ${condition}`} onClick={() => onChoose(condition)}>
              Use
            </Button>
          </li>
        ))}
      </ul>
      <p>
        <Link
          href={`/sql?${new URLSearchParams({ q: "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'sys_invocation'" })}`}
        >
          All columns
        </Link>
      </p>
    </Dialog>
  );
}
