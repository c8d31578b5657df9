// Times on the screen. An age grows while one looks at it; the exact time is in the tooltip and for machines.

import { useEffect, useState } from "preact/hooks";
import { ago, day, dayAndClock, NOTHING } from "../format";

/** The time, again every so many seconds. */
export function useNow(everyS = 30): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyS * 1_000);
    return () => clearInterval(timer);
  }, [everyS]);
  return now;
}

type Time = number | string | null | undefined;

/** "4 min ago". */
export function Ago({ time, none = NOTHING }: { time: Time; none?: string }) {
  const now = useNow();
  if (time === null || time === undefined) return <>{none}</>;
  return (
    <time dateTime={new Date(time).toISOString()} title={dayAndClock(time)} class="nowrap">
      {ago(time, now)}
    </time>
  );
}

/** "22 Nov 2026, 14:05", or without the clock. */
export function At({
  time,
  dayOnly,
  seconds,
  none = NOTHING,
}: {
  time: Time;
  dayOnly?: boolean;
  seconds?: boolean;
  none?: string;
}) {
  if (time === null || time === undefined) return <>{none}</>;
  return (
    <time dateTime={new Date(time).toISOString()} class="nowrap">
      {dayOnly ? day(time) : dayAndClock(time, seconds ? "second" : "minute")}
    </time>
  );
}
