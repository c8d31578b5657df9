// The shape of what is still on its way, so that the page does not jump when it comes.

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading…</span>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} aria-hidden="true" class={`bar w${index % 4}`} />
      ))}
    </div>
  );
}
