/** The pages of an environment as one finds them in the sidebar and the palette. */
import type { NavGroup } from "../shell/frame.js";

export function environmentLinks(): readonly NavGroup[] {
  return [
    {
      label: "Run",
      links: [
        { href: "/", label: "Overview", icon: "overview", keywords: "home live failures latencies", letter: "o" },
        { href: "/invocations", label: "Invocations", icon: "invocations", keywords: "list runs calls", letter: "i" },
        { href: "/playground", label: "Playground", icon: "playground", keywords: "call send try handler", letter: "p" },
        { href: "/operations", label: "Operations", icon: "restart", keywords: "undo kill cancel purge", letter: "u" },
      ],
    },
    {
      label: "Code",
      links: [
        { href: "/services", label: "Services", icon: "services", keywords: "handlers schemas configuration", letter: "s" },
        {
          href: "/deployments",
          label: "Deployments",
          icon: "deployments",
          keywords: "register revisions versions endpoints",
          letter: "d",
        },
      ],
    },
    {
      label: "Data",
      links: [
        { href: "/state", label: "State", icon: "state", keywords: "objects keys values", letter: "k" },
        { href: "/promises", label: "Promises", icon: "promises", keywords: "workflows", letter: "m" },
        { href: "/awakeables", label: "Awakeables", icon: "awakeables", keywords: "resolve reject waiting", letter: "a" },
      ],
    },
    {
      label: "Flow",
      links: [
        { href: "/schedules", label: "Schedules", icon: "schedules", keywords: "cron timer calendar", letter: "c" },
        { href: "/flow", label: "Rules and queues", icon: "flow", keywords: "limits concurrency rates priorities", letter: "f" },
        { href: "/subscriptions", label: "Subscriptions", icon: "subscriptions", keywords: "kafka topics lag", letter: "b" },
        { href: "/events", label: "Events", icon: "events", keywords: "alerts webhooks notifications", letter: "e" },
      ],
    },
    {
      label: "Tools",
      links: [
        { href: "/sql", label: "SQL", icon: "sql", keywords: "query introspection", letter: "q" },
        { href: "/tour", label: "Getting started", icon: "tour", keywords: "tour crash it", letter: "h" },
      ],
    },
  ];
}
