// An address that no page has.

import { ButtonLink } from "../design/button";
import { EmptyState } from "../design/empty_state";

export function NotFound() {
  return (
    <>
      <h1 class="unseen">Not found</h1>
      <EmptyState icon="search" title="There is no such page" action={<ButtonLink href="/">All studies</ButtonLink>}>
        The address may be mistyped, or what it named is gone.
      </EmptyState>
    </>
  );
}
