/** The head of every page: title, actions and description. */
import { type ReactNode, useEffect } from "react";
import "./page.css";

interface PageProps {
  readonly title: string;
  /** Shown instead of the title, where it needs more than text. */
  readonly heading?: ReactNode;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** The page fills the window and its contents scroll. */
  readonly isFull?: boolean;
}

export function Page({ title, heading, lead, actions, children, isFull }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Perdure`;
  }, [title]);
  return (
    <article className={`page${isFull ? " page--full" : ""}`}>
      <header className="page__head">
        <div className="page__words">
          <h1>{heading ?? title}</h1>
          {lead !== undefined &&
            (typeof lead === "string" ? <p className="quiet">{lead}</p> : <div className="quiet">{lead}</div>)}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
      {children}
    </article>
  );
}

export function Section({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section className="stack stack--tight">
      <div className="row row--spread">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** Facts beside each other: name and value. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
