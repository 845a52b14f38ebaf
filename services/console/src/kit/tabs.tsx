/** Why: several views of one thing, each with its own address, or in one place. */
import { Tabs } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
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

export interface ViewTab<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly content: ReactNode;
}

export interface ViewTabsProps<V extends string> {
  readonly label: string;
  readonly value: V;
  readonly onChange: (value: V) => void;
  readonly tabs: readonly ViewTab<V>[];
}

/** Views of one thing on one page; the one that is not shown does not exist. */
export function ViewTabs<V extends string>({ label, value, onChange, tabs }: ViewTabsProps<V>) {
  return (
    <Tabs.Root value={value} onValueChange={(next) => onChange(next as V)} className="stack stack--tight">
      <Tabs.List className="tabs" aria-label={label}>
        {tabs.map((tab) => (
          <Tabs.Tab key={tab.value} value={tab.value} className="tabs__tab">
            {tab.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((tab) => (
        <Tabs.Panel key={tab.value} value={tab.value}>
          {tab.content}
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  );
}
