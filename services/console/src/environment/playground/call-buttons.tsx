/** The kind of call, and the button that sends it. */
import { Button, ChoiceField, Duration, TextField, useNow } from "../../kit/index.js";
import type { CallMode, Extras } from "./call.js";
import type { CallState } from "./use-call.js";

interface CallButtonsProps {
  /** `Greeter/greet` */
  readonly path: string;
  readonly way: CallMode;
  readonly onWay: (way: CallMode) => void;
  readonly extras: Extras;
  readonly onExtras: (extras: Extras) => void;
  /** Why the call cannot be sent. */
  readonly obstacle: string | undefined;
  /** Errors of the schema: the call may be sent anyway. */
  readonly problemCount: number;
  readonly state: CallState;
  readonly onLeave: () => void;
}

const WAYS = [
  { value: "call", label: "Call and wait for the response" },
  { value: "send", label: "Send without waiting" },
  { value: "delayed", label: "Send with delay" },
] as const;

const VERBS: Readonly<Record<CallMode, string>> = { call: "Call", send: "Send", delayed: "Send with delay" };

export function CallButtons(props: CallButtonsProps) {
  const { path, way, onWay, extras, onExtras, obstacle, problemCount, state, onLeave } = props;
  const isWaiting = state.kind === "waiting";
  return (
    <div className="playground__call">
      <code className="playground__path" title={path}>
        POST /{path}
      </code>
      <ChoiceField label="Mode" isLabelHidden value={way} choices={WAYS} onChange={onWay} />
      {way === "delayed" && (
        <TextField
          label="Delay"
          isLabelHidden
          value={extras.delay}
          onChange={(delay) => onExtras({ ...extras, delay })}
          placeholder="Delay: 10s, 1h 30m"
          autoComplete="off"
        />
      )}
      <div className="row">
        <Button type="submit" appearance="primary" isBusy={isWaiting} forbidden={obstacle}>
          {VERBS[way]}
          {problemCount > 0 && " anyway"}
        </Button>
        {isWaiting && (
          <>
            <Button onClick={onLeave}>Stop waiting</Button>
            <Elapsed sinceMs={state.sinceMs} />
          </>
        )}
      </div>
    </div>
  );
}

function Elapsed({ sinceMs }: { readonly sinceMs: number }) {
  const now = useNow();
  return (
    <span className="quiet">
      <Duration ms={Math.max(0, now - sinceMs)} />
    </span>
  );
}
