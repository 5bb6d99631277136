/** Bytes as people read them: `850 bytes`, `12 KB`, `32 MB`. */
export function size(bytes: number): string {
  const [large, name] = bytes >= 2 ** 20 ? [2 ** 20, "MB"] : [2 ** 10, "KB"];
  if (bytes < 2 ** 10) return `${bytes} bytes`;
  const value = bytes / large;
  return `${value < 10 && value % 1 ? value.toFixed(1) : Math.round(value)} ${name}`;
}
