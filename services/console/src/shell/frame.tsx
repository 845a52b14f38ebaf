/** The frame of every page: current place and navigation; on narrow screens behind one button. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { Button } from "../kit/button.js";
import { CheckField } from "../kit/field.js";
import { Icon, type IconName } from "../kit/icon.js";
import { Catcher } from "./catcher.js";
import { chooseCompact, useIsCompact } from "./density.js";
import { DocsLink } from "./docs-link.js";
import { Keyboard } from "./keyboard.js";
import { Mark } from "./mark.js";
import { Palette } from "./palette.js";
import { ReachBanner } from "./reach.js";
import { ThemeChoice } from "./theme.js";
import "./frame.css";

interface NavLink {
  readonly href: string;
  readonly label: string;
  readonly icon?: IconName;
  /** Further search terms. */
  readonly keywords?: string;
  /** The letter key after `g`. */
  readonly letter?: string;
}

export interface NavGroup {
  readonly label: string;
  readonly links: readonly NavLink[];
}

interface FrameProps {
  readonly groups: readonly NavGroup[];
  /** Places in the palette alone, because they are too many for a sidebar. */
  readonly more?: readonly NavGroup[];
  /** Beside the logo: the current environment or account, and links to others. */
  readonly place: ReactNode;
  /** Foot of the sidebar: the signed-in user. */
  readonly foot?: ReactNode;
  readonly children: ReactNode;
}

const PALETTE_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ K" : "Ctrl K";
const NONE: readonly NavGroup[] = [];

export function Frame({ groups, more = NONE, place, foot, children }: FrameProps) {
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const isCompact = useIsCompact();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    setOpen(false);
    // The next element that is read out, and where the next Tab begins.
    main.current?.focus({ preventScroll: true });
    main.current?.scrollTo(0, 0);
  }, [path]);
  return (
    <div className={`frame${isOpen ? " frame--open" : ""}`}>
      <Button appearance="bare" className="frame__skip" onClick={() => main.current?.focus()}>
        Skip to content
      </Button>
      <header className="frame__top">
        <Button
          appearance="bare"
          className="frame__toggle"
          aria-expanded={isOpen}
          aria-controls="nav"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="menu" /> <span className="visually-hidden">Menu</span>
        </Button>
        <Mark />
        <div className="frame__place">{place}</div>
      </header>
      <aside className="frame__side" id="nav">
        <nav aria-label="Pages" className="frame__nav">
          <Button className="frame__search" aria-keyshortcuts="Control+K" onClick={() => setPaletteOpen(true)}>
            <span className="frame__hint">
              <Icon name="search" /> Go to …
            </span>{" "}
            <span className="key">{PALETTE_KEY}</span>
          </Button>
          {groups.map((group) => (
            <div key={group.label} className="frame__group">
              <h2 className="frame__label">{group.label}</h2>
              {group.links.map((link) => (
                <Link
                  key={link.href}
                  href={link.href}
                  className="frame__link"
                  aria-current={isAt(path, link.href) ? "page" : undefined}
                >
                  {link.icon !== undefined && <Icon name={link.icon} />}
                  {link.label}
                </Link>
              ))}
            </div>
          ))}
        </nav>
        <div className="frame__foot">
          {foot}
          <DocsLink />
          <Button appearance="bare" isSmall className="frame__keys" aria-keyshortcuts="?" onClick={() => setHelpOpen(true)}>
            <Icon name="keyboard" /> Keyboard shortcuts <span className="key">?</span>
          </Button>
          <ThemeChoice />
          <CheckField label="Compact density" isOn={isCompact} onChange={chooseCompact} />
        </div>
      </aside>
      <main className="frame__main" id="main" ref={main} tabIndex={-1}>
        <ReachBanner />
        <Catcher place={path}>{children}</Catcher>
      </main>
      <Palette groups={more.length === 0 ? groups : [...groups, ...more]} isOpen={isPaletteOpen} onOpen={setPaletteOpen} />
      <Keyboard groups={groups} isHelpOpen={isHelpOpen} onHelp={setHelpOpen} />
    </div>
  );
}

function isAt(path: string, href: string): boolean {
  return href === "/" ? path === "/" : path === href || path.startsWith(`${href}/`);
}
