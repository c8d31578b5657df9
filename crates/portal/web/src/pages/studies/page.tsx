// To come: the page "studies".

import type { PageProps } from "../../routes";

export default function Page({ params }: PageProps) {
  return <p>{JSON.stringify(params)}</p>;
}
