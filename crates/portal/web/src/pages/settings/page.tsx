// To come: the page "settings".

import type { PageProps } from "../../routes";

export default function Page({ params }: PageProps) {
  return <p>{JSON.stringify(params)}</p>;
}
