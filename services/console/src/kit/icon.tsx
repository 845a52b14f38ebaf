/** Icons of links and buttons, beside their text. Each is imported by itself, so that no other gets into the bundle. */
import Ban from "lucide-react/icons/ban";
import BellOff from "lucide-react/icons/bell-off";
import BellRing from "lucide-react/icons/bell-ring";
import BookOpen from "lucide-react/icons/book-open";
import Bookmark from "lucide-react/icons/bookmark";
import Boxes from "lucide-react/icons/boxes";
import CalendarClock from "lucide-react/icons/calendar-clock";
import ChartColumn from "lucide-react/icons/chart-column";
import Check from "lucide-react/icons/check";
import ChevronDown from "lucide-react/icons/chevron-down";
import ChevronRight from "lucide-react/icons/chevron-right";
import CodeXml from "lucide-react/icons/code-xml";
import Columns3 from "lucide-react/icons/columns-3";
import Copy from "lucide-react/icons/copy";
import Database from "lucide-react/icons/database";
import Download from "lucide-react/icons/download";
import Ellipsis from "lucide-react/icons/ellipsis";
import Eraser from "lucide-react/icons/eraser";
import Funnel from "lucide-react/icons/funnel";
import Gauge from "lucide-react/icons/gauge";
import GitFork from "lucide-react/icons/git-fork";
import GraduationCap from "lucide-react/icons/graduation-cap";
import Handshake from "lucide-react/icons/handshake";
import KeyRound from "lucide-react/icons/key-round";
import Keyboard from "lucide-react/icons/keyboard";
import Layers from "lucide-react/icons/layers";
import LayoutDashboard from "lucide-react/icons/layout-dashboard";
import List from "lucide-react/icons/list";
import Menu from "lucide-react/icons/menu";
import OctagonX from "lucide-react/icons/octagon-x";
import Pause from "lucide-react/icons/pause";
import Pencil from "lucide-react/icons/pencil";
import Play from "lucide-react/icons/play";
import Plus from "lucide-react/icons/plus";
import Rocket from "lucide-react/icons/rocket";
import RotateCcw from "lucide-react/icons/rotate-ccw";
import Rss from "lucide-react/icons/rss";
import ScrollText from "lucide-react/icons/scroll-text";
import Search from "lucide-react/icons/search";
import Settings from "lucide-react/icons/settings";
import SquareTerminal from "lucide-react/icons/square-terminal";
import Trash2 from "lucide-react/icons/trash-2";
import Users from "lucide-react/icons/users";
import Webhook from "lucide-react/icons/webhook";
import X from "lucide-react/icons/x";

/** Icons by their meaning in the console. */
const ICONS = {
  acknowledge: Check,
  add: Plus,
  "api-keys": KeyRound,
  audit: ScrollText,
  awakeables: BellRing,
  cancel: Ban,
  clear: X,
  columns: Columns3,
  copied: Check,
  copy: Copy,
  delete: Trash2,
  deployments: Rocket,
  developers: CodeXml,
  docs: BookOpen,
  edit: Pencil,
  environments: Layers,
  events: Webhook,
  export: Download,
  filter: Funnel,
  flow: Gauge,
  "fold-closed": ChevronRight,
  "fold-open": ChevronDown,
  fork: GitFork,
  invocations: List,
  keyboard: Keyboard,
  kill: OctagonX,
  members: Users,
  menu: Menu,
  more: Ellipsis,
  mute: BellOff,
  overview: LayoutDashboard,
  pause: Pause,
  playground: Play,
  promises: Handshake,
  purge: Eraser,
  restart: RotateCcw,
  resume: Play,
  run: Play,
  schedules: CalendarClock,
  search: Search,
  services: Boxes,
  settings: Settings,
  sql: SquareTerminal,
  state: Database,
  subscriptions: Rss,
  tour: GraduationCap,
  usage: ChartColumn,
  views: Bookmark,
} as const;

export type IconName = keyof typeof ICONS;

/** Pixels of its square: the height of a lower-case line. */
const SIZE_PX = 16;

/** Not read out: the text beside it, or the label of its button, has the same meaning. */
export function Icon({ name }: { readonly name: IconName }) {
  const Drawing = ICONS[name];
  return <Drawing className="icon" size={SIZE_PX} strokeWidth={1.75} aria-hidden="true" />;
}
