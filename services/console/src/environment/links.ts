/** The pages of an environment as one finds them in the sidebar and the palette. */
import type { NavGroup } from "../shell/frame.js";

export function environmentLinks(): readonly NavGroup[] {
  return [
    {
      label: "Run",
      links: [
        { href: "/", label: "Overview", words: "home live failures latencies", letter: "o" },
        { href: "/invocations", label: "Invocations", words: "list runs calls", letter: "i" },
        { href: "/playground", label: "Playground", words: "call send try handler", letter: "p" },
      ],
    },
    {
      label: "Code",
      links: [
        { href: "/services", label: "Services", words: "handlers schemas configuration", letter: "s" },
        { href: "/deployments", label: "Deployments", words: "register revisions versions endpoints", letter: "d" },
      ],
    },
    {
      label: "Data",
      links: [
        { href: "/state", label: "State", words: "objects keys values", letter: "k" },
        { href: "/promises", label: "Promises", words: "workflows", letter: "m" },
        { href: "/awakeables", label: "Awakeables", words: "resolve reject waiting", letter: "a" },
      ],
    },
    {
      label: "Flow",
      links: [
        { href: "/schedules", label: "Schedules", words: "cron timer calendar", letter: "c" },
        { href: "/flow", label: "Rules and queues", words: "limits concurrency rates priorities", letter: "f" },
        { href: "/subscriptions", label: "Subscriptions", words: "kafka topics lag", letter: "b" },
      ],
    },
    {
      label: "Tools",
      links: [
        { href: "/sql", label: "SQL", words: "query introspection", letter: "q" },
        { href: "/tour", label: "Getting started", words: "tour crash it", letter: "h" },
      ],
    },
  ];
}
