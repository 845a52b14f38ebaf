/** Several views of one thing in one place. Imported by itself: few pages have them, and the first one does not. */
import { Tabs } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
import "./tabs.css";

interface ViewTab<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly content: ReactNode;
}

interface ViewTabsProps<V extends string> {
  readonly label: string;
  readonly value: V;
  readonly onChange: (value: V) => void;
  readonly tabs: readonly ViewTab<V>[];
}

/** Views of one thing on one page; the one that is not shown does not exist. */
export function ViewTabs<V extends string>({ label, value, onChange, tabs }: ViewTabsProps<V>) {
  const choose = (next: unknown) => {
    const tab = tabs.find((one) => one.value === next);
    if (tab !== undefined) onChange(tab.value);
  };
  return (
    <Tabs.Root value={value} onValueChange={choose} className="stack stack--tight">
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
