/** Starts a service and registers it: here, or the tour finds one that was registered elsewhere. */
import type { ServiceMetadata } from "@perdure/admin-client";
import type { UseQueryResult } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { Button, ChoiceField, Loaded, ProblemNote, Snippet, TextField } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useChange } from "../request.js";
import { SAMPLES } from "./samples.js";
import type { TourState } from "./use-progress.js";

interface StartStepProps extends Pick<TourState, "progress" | "note"> {
  readonly query: UseQueryResult<readonly ServiceMetadata[]>;
}

export function StartStep({ query, progress, note }: StartStepProps) {
  return (
    <Loaded query={query}>
      {(services) =>
        services.length === 0 ? (
          <Beginning progress={progress} note={note} />
        ) : (
          <>
            <p>
              Registered:{" "}
              {services.map(({ name }, i) => (
                <span key={name}>
                  {i > 0 && ", "}
                  <Link href={`/services/${encodeURIComponent(name)}`}>{name}</Link>
                </span>
              ))}
              .
            </p>
            <details>
              <summary>Start another one</summary>
              <div className="stack tour__more">
                <Beginning progress={progress} note={note} />
              </div>
            </details>
          </>
        )
      }
    </Loaded>
  );
}

function Beginning({ progress, note }: Pick<TourState, "progress" | "note">) {
  const { needsKey } = useEnvironment();
  const sample = SAMPLES.find(({ value }) => value === progress.language) ?? SAMPLES[0];
  if (sample === undefined) return null;
  return (
    <>
      <div className="tour__choice">
        <ChoiceField
          label="Language"
          value={sample.value}
          choices={SAMPLES}
          onChange={(language) => note({ language })}
          hint={`Needs ${sample.needs}. Services are written with the published Restate SDKs.`}
        />
      </div>
      <p>In an empty folder:</p>
      <Snippet label="the commands that prepare the folder" text={sample.prepare} />
      {sample.files.map(({ name, text }) => (
        <div key={name} className="stack stack--tight">
          <p>
            <code>{name}</code>
          </p>
          <Snippet label={name} text={text} />
        </div>
      ))}
      <p>Start it; it listens on port 9080:</p>
      <Snippet label="the command that starts it" text={sample.start} />
      {needsKey ? <Tunnel /> : <Register progress={progress} note={note} />}
    </>
  );
}

/** Explains the tunnel through which the cloud reaches a service on a developer's machine, and which the developer opens. */
function Tunnel() {
  return (
    <>
      <p>Connect it through a tunnel and register it. This page updates by itself.</p>
      <Snippet label="the command that links it" text="perdure link" />
    </>
  );
}

function Register({ progress, note }: Pick<TourState, "progress" | "note">) {
  const { forbidden, adminUrl } = useEnvironment();
  const [address, setAddress] = useState(progress.address);
  const register = useChange(({ admin }, uri: string) => admin.deployments.register({ address: uri, force: true }), {
    done: ({ deployment }) => `Registered ${deployment.services.map(({ name }) => name).join(", ")}`,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    note({ address });
    register.mutate(address.trim());
  };
  return (
    <form onSubmit={submit} className="stack stack--tight">
      <p>Register it. The server discovers its services:</p>
      <div className="tour__line">
        <TextField
          label="Endpoint URL, as the server reaches it"
          value={address}
          onChange={setAddress}
          isCode
          spellCheck={false}
        />
        <Button type="submit" appearance="primary" isBusy={register.isPending} forbidden={forbidden}>
          Register
        </Button>
      </div>
      {register.isError && <ProblemNote cause={register.error} title="The deployment was not registered." />}
      <p className="quiet small">
        Or in a terminal: <code>{`curl ${adminUrl}/deployments --json '${JSON.stringify({ uri: address })}'`}</code>. This page
        updates by itself.
      </p>
    </form>
  );
}
