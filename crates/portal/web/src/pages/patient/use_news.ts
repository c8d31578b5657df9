// The history of the score over a stretch of time. Without it the vitals are still worth seeing, so its failure is quiet.

import { useEffect, useState } from "preact/hooks";
import { get } from "../../api/client";
import { useConnection } from "../../api/connection";
import type { Range } from "../../charts/range";
import type { Series } from "../../charts/series";
import { type NewsHistory, newsPath, newsSeries } from "./news_history";

export function useNews(uuid: string, range: Range): Series[] {
  const [series, setSeries] = useState<Series[]>([]);
  const { epoch } = useConnection();
  const path = newsPath(uuid, range);
  useEffect(() => {
    const stop = new AbortController();
    const read = () =>
      get<NewsHistory>(path, stop.signal).then(
        ({ entries }) => setSeries(newsSeries(entries, Date.now())),
        () => {},
      );
    // Not for every notch of the wheel.
    const timer = window.setTimeout(read, 80);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [path, epoch]);
  return series;
}
