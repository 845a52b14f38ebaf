/** Several views of one thing, each with its own address. */
import { Link, useLocation } from "wouter";
import "./tabs.css";

export interface TabLink {
  readonly href: string;
  readonly label: string;
}

export function TabLinks({ label, tabs }: { readonly label: string; readonly tabs: readonly TabLink[] }) {
  const [path] = useLocation();
  return (
    <nav aria-label={label} className="tabs">
      {tabs.map(({ href, label: text }) => (
        <Link key={href} href={href} className="tabs__tab" aria-current={path === href ? "page" : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  );
}
