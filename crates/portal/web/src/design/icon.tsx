// The few pictures the portal uses, drawn as strokes of 16 units. They are never alone: the text or the label next to
// them says what they mean.

const STROKES = {
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.500 5.500v-3h8v8h-3M2.500 5.500h8v8h-8z",
  download: "M8 2v8M4.500 7L8 10.500 11.500 7M2.500 13.500h11",
  search: "M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM10.500 10.500l3 3",
  check: "M3 8.500l3.500 3.500L13 4.500",
  alert: "M8 2l6.500 11.500h-13zM8 6.500v3M8 11.400v.1",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.500v3.500M8 5v.1",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M3.400 12.600l1-1M11.600 4.400l1-1",
  moon: "M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z",
  screen: "M2 3h12v8H2zM6 14h4M8 11v3",
  terminal: "M2.500 4l4 4-4 4M8 12.500h5.500",
  print: "M4.500 6V2h7v4M4.500 11.500h-2v-5h11v5h-2M4.500 9.500h7V14h-7z",
  trash: "M3 4.500h10M6.500 4.500v-2h3v2M4.500 4.500l.5 9h6l.5-9",
  edit: "M3 13l.7-3 7-7 2.300 2.300-7 7z",
  person: "M8 7.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM3 14c.4-3 2.300-4.500 5-4.500s4.600 1.500 5 4.500",
  pulse: "M1.500 8.500h3l2-5 3 9 2-4h3",
  menu: "M2.500 4.500h11M2.500 8h11M2.500 11.500h11",
  battery: "M1.500 5h11v6h-11zM14.500 7v2",
  lock: "M4 7.500h8v6H4zM5.500 7.500v-2a2.500 2.500 0 0 1 5 0v2",
} as const;

export type IconName = keyof typeof STROKES;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={STROKES[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
