/** A zip file without the pictures and sounds in it: its entries are copied as they are, none is unpacked. */

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const END_SIZE = 22;
const ENTRY_SIZE = 46;
const LOCAL_SIZE = 30;
const LONGEST_COMMENT = 65_535;
const WANTED = /\.(json|jsonl|txt|md)$/i;

interface Entry {
  head: Uint8Array<ArrayBuffer>; // as it is in the directory
  size: number; // of what is packed
  offset: number;
}

/** The same file with its texts only; a file that is no zip, or an odd one, is given back as it is. */
export async function slim(file: File): Promise<Blob> {
  const directory = await directoryOf(file);
  if (!directory) return file;
  const parts: Blob[] = [];
  const heads: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const entry of directory.filter(isWanted)) {
    const local = new DataView(await file.slice(entry.offset, entry.offset + LOCAL_SIZE).arrayBuffer());
    const length = LOCAL_SIZE + local.getUint16(26, true) + local.getUint16(28, true) + entry.size;
    const head = entry.head.slice();
    new DataView(head.buffer).setUint32(42, offset, true);
    parts.push(file.slice(entry.offset, entry.offset + length));
    heads.push(head);
    offset += length;
  }
  const size = heads.reduce((sum, head) => sum + head.length, 0);
  return new Blob([...parts, ...heads, ending(heads.length, size, offset)]);
}

async function directoryOf(file: Blob): Promise<Entry[] | null> {
  const start = Math.max(0, file.size - END_SIZE - LONGEST_COMMENT);
  const tail = new DataView(await file.slice(start).arrayBuffer());
  let place = tail.byteLength - END_SIZE;
  while (place >= 0 && tail.getUint32(place, true) !== END) place--;
  if (place < 0) return null;
  const first = tail.getUint32(place + 16, true);
  const bytes = new Uint8Array(await file.slice(first, first + tail.getUint32(place + 12, true)).arrayBuffer());
  const view = new DataView(bytes.buffer);
  const found: Entry[] = [];
  for (let at = 0; at + ENTRY_SIZE <= bytes.length; ) {
    if (view.getUint32(at, true) !== ENTRY) return null;
    const length =
      ENTRY_SIZE + view.getUint16(at + 28, true) + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    found.push({
      head: bytes.slice(at, at + length),
      size: view.getUint32(at + 20, true),
      offset: view.getUint32(at + 42, true),
    });
    at += length;
  }
  return found.length ? found : null;
}

function isWanted(entry: Entry): boolean {
  const name = new DataView(entry.head.buffer).getUint16(28, true);
  return WANTED.test(new TextDecoder().decode(entry.head.slice(ENTRY_SIZE, ENTRY_SIZE + name)));
}

function ending(entries: number, size: number, offset: number): ArrayBuffer {
  const end = new DataView(new ArrayBuffer(END_SIZE));
  end.setUint32(0, END, true);
  end.setUint16(8, entries, true);
  end.setUint16(10, entries, true);
  end.setUint32(12, size, true);
  end.setUint32(16, offset, true);
  return end.buffer;
}
