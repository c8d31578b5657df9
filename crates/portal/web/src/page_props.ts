// What a page is given by its route.

import type { Params } from "./router";

export interface PageProps {
  /** The named parts of the address. */
  params: Params;
}
