/** Awakeables that handlers wait for, how long already, and a dialog that completes them. */
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import {
  Breakable,
  Button,
  Empty,
  InvocationBadge,
  Loaded,
  Moment,
  Page,
  ShortId,
  Snippet,
  Table,
  TextField,
} from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { LIVE_MS, useSql } from "../request.js";
import { AnswerDialog, type CompletionWay } from "./answer-dialog.js";
import { isAwakeableId } from "./awakeable-id.js";
import { inputsOf, inputsStatement, matching } from "./inputs.js";
import { awakeablesOf, type PendingAwakeable, WAITING_SHOWN_MAX, WAITING_STATEMENT } from "./waiting.js";
import "./awakeables.css";

export default function AwakeablesPage() {
  const { forbidden, ingressUrl } = useEnvironment();
  const waiting = useSql(WAITING_STATEMENT, { everyMs: LIVE_MS });
  const all = awakeablesOf(waiting.data ?? []);
  const inputsQuery = inputsStatement(all);
  const inputs = inputsOf(useSql(inputsQuery ?? "", { isOff: inputsQuery === undefined }).data ?? []);
  const [answering, setAnswering] = useState<{ readonly id: string; readonly way: CompletionWay }>();
  const [find, setFind] = useState("");
  return (
    <Page
      title="Awakeables"
      lead="Pending results from users and other systems. Any client that has the id can resolve or reject."
    >
      <Paste forbidden={forbidden} onAnswer={(id) => setAnswering({ id, way: "json" })} />
      <Loaded query={waiting}>
        {(rows) => (
          <>
            {(all.length > 1 || find !== "") && (
              <div className="awakeables__find">
                <TextField
                  label="Handler, key or input contains"
                  value={find}
                  onChange={setFind}
                  spellCheck={false}
                  autoComplete="off"
                />
              </div>
            )}
            <Table
              label="Pending awakeables"
              rows={matching(all, inputs, find)}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: "Invocation",
                  cell: ({ invocationId, target, status }: PendingAwakeable) => (
                    <>
                      <span className="row">
                        <Link href={`/invocations/${invocationId}`}>
                          <Breakable text={target} />
                        </Link>
                        <InvocationBadge status={status} />
                      </span>
                      <InputLine text={inputs.get(invocationId)} />
                    </>
                  ),
                },
                { name: "Since", cell: ({ since }: PendingAwakeable) => <Moment at={since} /> },
                { name: "Id", cell: ({ id }: PendingAwakeable) => <ShortId id={id} copyLabel="id" /> },
                {
                  name: "Actions",
                  isNameHidden: true,
                  cell: ({ id, target }: PendingAwakeable) => (
                    <span className="row">
                      <Button
                        isSmall
                        forbidden={forbidden}
                        aria-label={`Resolve for ${target}`}
                        onClick={() => setAnswering({ id, way: "json" })}
                      >
                        Resolve
                      </Button>
                      <Button
                        isSmall
                        appearance="bare"
                        forbidden={forbidden}
                        aria-label={`Reject for ${target}`}
                        onClick={() => setAnswering({ id, way: "reject" })}
                      >
                        Reject
                      </Button>
                    </span>
                  ),
                },
              ]}
              empty={
                all.length > 0 ? (
                  <Empty title="No matching awakeables" />
                ) : (
                  <Empty title="No pending awakeables">
                    <p>
                      A handler that creates an awakeable and waits for it is listed here as soon as it is suspended: a minute
                      after it began to wait, unless its service is configured otherwise.
                    </p>
                    <Snippet label="handler code" text={"const { id, promise } = ctx.awakeable<string>();"} />
                    <p>Complete it here, or with its id:</p>
                    <Snippet label="command" text={`curl ${ingressUrl}/restate/awakeables/<id>/resolve --json '"yes"'`} />
                  </Empty>
                )
              }
            />
            {rows.length === WAITING_SHOWN_MAX && <p className="quiet">The longest waiting are shown. Complete others by id.</p>}
          </>
        )}
      </Loaded>
      {answering !== undefined && (
        <AnswerDialog key={answering.id} id={answering.id} first={answering.way} onClose={() => setAnswering(undefined)} />
      )}
    </Page>
  );
}

function Paste({ forbidden, onAnswer }: { readonly forbidden: string | undefined; readonly onAnswer: (id: string) => void }) {
  const [text, setText] = useState("");
  const [isTried, setTried] = useState(false);
  const id = text.trim();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (isAwakeableId(id)) onAnswer(id);
  };
  return (
    <form onSubmit={submit} className="awakeables__paste">
      <TextField
        label="Complete by id"
        placeholder="sign_1…"
        value={text}
        onChange={setText}
        isCode
        spellCheck={false}
        autoComplete="off"
        problem={isTried && !isAwakeableId(id) ? "Awakeable ids begin with sign_1 and have 44 characters." : undefined}
      />
      <Button type="submit" forbidden={forbidden}>
        Complete
      </Button>
    </form>
  );
}

/** What the handler was called with, below its name: it distinguishes the rows of one handler. */
function InputLine({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <span className="awakeables__input small quiet" title={text}>
      {text}
    </span>
  );
}
