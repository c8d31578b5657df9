// The history of the score over a stretch of time. Without it the vitals are still worth seeing, so its failure is quiet.

import { useEffect, useState } from "preact/hooks";
import { get } from "../../api/client";
import { useConnection } from "../../api/connection";
import { AGAIN_MS, useClock } from "../../api/use_clock";
import { waitSeconds } from "../../api/wait";
import type { Range } from "../../charts/range";
import { type NewsEntry, type NewsHistory, newsPath } from "./news_history";
import { useSettled } from "./use_settled";

/** The entries, and the range that they were asked for. */
export interface News {
  entries: NewsEntry[];
  range: Range;
}

export function useNews(uuid: string, range: Range): News {
  const [news, setNews] = useState<News>({ entries: [], range });
  const [turn, setTurn] = useState(0);
  const again = () => setTurn((before) => before + 1);
  const { epoch } = useConnection();
  const settled = useSettled();
  const path = newsPath(uuid, range);
  useEffect(() => {
    const stop = new AbortController();
    const read = () =>
      get<NewsHistory>(path, stop.signal).then(
        ({ entries }) => setNews({ entries, range }),
        (error) => {
          const waitS = stop.signal.aborted ? null : waitSeconds(error);
          if (waitS !== null) settled.restFor(waitS, again);
        },
      );
    settled.move(read);
    return () => {
      settled.cancel();
      stop.abort();
    };
  }, [path, turn, epoch]);
  useClock(range.to < Date.now() ? null : AGAIN_MS, again);
  return news;
}
