/** The pages of an environment as one finds them in the sidebar and the palette. */
import type { NavGroup } from "../shell/frame.js";

export function environmentLinks(): readonly NavGroup[] {
  return [
    {
      label: "Run",
      links: [
        { href: "/", label: "Overview", icon: "overview", words: "home live failures latencies", letter: "o" },
        { href: "/invocations", label: "Invocations", icon: "invocations", words: "list runs calls", letter: "i" },
        { href: "/playground", label: "Playground", icon: "playground", words: "call send try handler", letter: "p" },
      ],
    },
    {
      label: "Code",
      links: [
        { href: "/services", label: "Services", icon: "services", words: "handlers schemas configuration", letter: "s" },
        {
          href: "/deployments",
          label: "Deployments",
          icon: "deployments",
          words: "register revisions versions endpoints",
          letter: "d",
        },
      ],
    },
    {
      label: "Data",
      links: [
        { href: "/state", label: "State", icon: "state", words: "objects keys values", letter: "k" },
        { href: "/promises", label: "Promises", icon: "promises", words: "workflows", letter: "m" },
        { href: "/awakeables", label: "Awakeables", icon: "awakeables", words: "resolve reject waiting", letter: "a" },
      ],
    },
    {
      label: "Flow",
      links: [
        { href: "/schedules", label: "Schedules", icon: "schedules", words: "cron timer calendar", letter: "c" },
        { href: "/flow", label: "Rules and queues", icon: "flow", words: "limits concurrency rates priorities", letter: "f" },
        { href: "/subscriptions", label: "Subscriptions", icon: "subscriptions", words: "kafka topics lag", letter: "b" },
      ],
    },
    {
      label: "Tools",
      links: [
        { href: "/sql", label: "SQL", icon: "sql", words: "query introspection", letter: "q" },
        { href: "/tour", label: "Getting started", icon: "tour", words: "tour crash it", letter: "h" },
      ],
    },
  ];
}
