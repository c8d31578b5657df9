// Which page belongs to which address. Every page is a chunk of its own that is fetched when it is first needed; its
// module exports the component as default and is given the named parts of the address.

import type { ComponentType } from "preact";
import type { PageProps } from "./page_props";
import { matchPath, type Params } from "./router";

export interface Route {
  pattern: string;
  /** What the page is called, in the browser's title and in the path at the top. */
  title: string;
  /** Pages that use the whole width of the screen. */
  wide?: boolean;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export const ROUTES: Route[] = [
  { pattern: "/", title: "Studies", load: () => import("./pages/studies/page") },
  { pattern: "/studies/:code", title: "Ward board", wide: true, load: () => import("./pages/board/page") },
  { pattern: "/studies/:code/patients", title: "Patients", load: () => import("./pages/patients/page") },
  {
    pattern: "/studies/:code/patients/:uuid",
    title: "Patient",
    wide: true,
    load: () => import("./pages/patient/page"),
  },
  { pattern: "/studies/:code/patients/:uuid/record", title: "Record", load: () => import("./pages/record/page") },
  { pattern: "/studies/:code/vouchers", title: "Vouchers", load: () => import("./pages/vouchers/page") },
  {
    pattern: "/studies/:code/compliance",
    title: "Compliance",
    wide: true,
    load: () => import("./pages/compliance/page"),
  },
  { pattern: "/studies/:code/exports", title: "Exports", load: () => import("./pages/exports/page") },
  { pattern: "/studies/:code/settings", title: "Study settings", load: () => import("./pages/study_settings/page") },
  { pattern: "/bracelets", title: "Bracelets", load: () => import("./pages/bracelets/page") },
  { pattern: "/audit", title: "Audit log", load: () => import("./pages/audit/page") },
  { pattern: "/settings", title: "Settings", load: () => import("./pages/settings/page") },
];

/** The route of a path with the path's parts, or null when there is no such page. */
export function routeOf(path: string): { route: Route; params: Params } | null {
  for (const route of ROUTES) {
    const params = matchPath(route.pattern, path);
    if (params) return { route, params };
  }
  return null;
}
