/** Small pictures of the doors, in the colours of the page. */

export function Layers() {
  const bars = [9, 14, 7, 18, 11, 16, 8, 13, 20, 10, 15, 9, 17, 12];
  return (
    <svg class="picture" viewBox="0 0 160 72" aria-hidden="true">
      {bars.map((height, place) => (
        <rect key={place} x={4 + place * 11} y={26 - height} width={8} height={height} rx={1.5} class="log" />
      ))}
      <rect x={4} y={31} width={34} height={14} rx={3} class="thin" />
      <rect x={41} y={31} width={34} height={14} rx={3} class="thin" />
      <rect x={78} y={31} width={34} height={14} rx={3} class="thin" />
      <rect x={4} y={49} width={71} height={18} rx={3} class="thick" />
    </svg>
  );
}

export function Talkers() {
  return (
    <svg class="picture" viewBox="0 0 160 72" aria-hidden="true">
      <rect x={58} y={6} width={94} height={24} rx={8} class="mine" />
      <rect x={68} y={15} width={62} height={5} rx={2.5} class="line" />
      <rect x={8} y={36} width={104} height={30} rx={8} class="theirs" />
      <rect x={18} y={44} width={74} height={5} rx={2.5} class="line" />
      <rect x={18} y={54} width={46} height={5} rx={2.5} class="line" />
    </svg>
  );
}

export function Sheets() {
  return (
    <svg class="picture" viewBox="0 0 160 72" aria-hidden="true">
      <rect x={44} y={6} width={46} height={58} rx={4} class="theirs" transform="rotate(-7 67 35)" />
      <rect x={60} y={6} width={46} height={58} rx={4} class="sheet" />
      {[16, 25, 34, 43].map((y, place) => (
        <rect key={y} x={67} y={y} width={place % 2 ? 22 : 32} height={4} rx={2} class="line" />
      ))}
      <path d="M122 18 v26 m-9 -9 l9 9 l9 -9" class="arrow" />
    </svg>
  );
}
