// The newest score with its parts, so that they add up before the reader's eyes: what was measured, how old it was, and
// what it scores. What nobody has set is said to be assumed.

import { ApiError } from "../../api/client";
import * as paths from "../../api/paths";
import { AGAIN_MS } from "../../api/use_clock";
import { useResource } from "../../api/use_resource";
import { Notice } from "../../design/badge";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { useNow } from "../../design/time";
import { ageText, spokenAge } from "../board/age";
import { parametersText, responseText, riskOf, riskText, STALE_AFTER_MS } from "../board/news";
import { type NewsScore, newsParts } from "./news_parts";

export function NewsPanel({ uuid }: { uuid: string }) {
  const { data, error, reload } = useResource<NewsScore>(paths.latestNews(uuid), AGAIN_MS / 1_000);
  const now = useNow(15);
  return (
    <section class="panel news-panel" aria-labelledby="news-title">
      <header>
        <h2 id="news-title">NEWS2</h2>
        {data && <span class="small soft">{spokenAge(now - data.timestamp)}</span>}
      </header>
      {!data && !error && <Skeleton lines={4} />}
      {error instanceof ApiError && error.status === 404 ? (
        <p class="soft">No score yet. It is computed as soon as vital signs have been synced.</p>
      ) : (
        error && <Problem error={error} onRetry={reload} />
      )}
      {data && <Score news={data} now={now} />}
    </section>
  );
}

function Score({ news, now }: { news: NewsScore; now: number }) {
  const parts = newsParts(news);
  const risk = riskOf({ score: news.value, red_parameter: parts.some((part) => part.score === 3) });
  const stale = now - news.timestamp > STALE_AFTER_MS;
  return (
    <div class={stale ? "outdated" : ""}>
      <p class={`news big ${risk}`}>
        <b>{news.value ?? "–"}</b> <span>{riskText(risk)}</span>
      </p>
      <p class="small soft">
        {stale ? `Outdated: older than 30 min. ` : ""}
        {responseText(risk)}
      </p>
      <table class="news-parts">
        <caption class="unseen">Parts of the score</caption>
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col" class="number">
              Value
            </th>
            <th scope="col" class="number">
              Age
            </th>
            <th scope="col" class="number">
              Score
            </th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <tr key={part.name}>
              <th scope="row">{part.label}</th>
              <td class="number nowrap">
                {part.value}
                {part.unit && <span class="faint"> {part.unit}</span>}
              </td>
              <td class="number faint nowrap">{part.ageMs === null ? "" : ageText(part.ageMs)}</td>
              <td class="number">
                <span class={`part s${part.score ?? "none"}`}>{part.score ?? "none"}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {news.missing.length > 0 && (
        <Notice tone="warn">
          No total:{" "}
          {news.missing
            .map((part) => `${parametersText([part.parameter])} ${part.reason.replaceAll("_", " ")}`)
            .join("; ")}
          .
        </Notice>
      )}
      {news.assumed.length > 0 && <p class="tiny faint">Assumed, never set: {parametersText(news.assumed)}.</p>}
    </div>
  );
}
