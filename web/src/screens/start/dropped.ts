/** The files of what was dropped or chosen: those of folders, too, by their paths. */

const READ = /\.(json|jsonl|txt|zip)$/i; // what of a folder can be imported
const HIDDEN = /(^|\/)(\.|__MACOSX\/)/;

export interface Named {
  name: string;
  file: File;
}

/** What came of a drop: files to import, and what could not be taken, with the reason. */
export interface Taken {
  files: Named[];
  refused: { name: string; why: string }[];
}

/** What was dropped. It is asked for at once: a drop is over when its event is. */
export async function dropped(data: DataTransfer): Promise<Taken> {
  const entries = [...data.items]
    .filter((item) => item.kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry?.() ?? null, file: item.getAsFile() }));
  const taken: Taken = { files: [], refused: [] };
  for (const { entry, file } of entries) {
    if (entry?.isDirectory) add(taken, entry.name, await within(entry as FileSystemDirectoryEntry));
    else if (file && (await isReadable(file))) taken.files.push({ name: file.name, file });
    else if (file) taken.refused.push({ name: file.name, why: NO_FOLDERS });
  }
  return taken;
}

/** What was chosen; of a folder, each file has its path. */
export function chosen(files: Iterable<File>): Taken {
  const taken: Taken = { files: [], refused: [] };
  const inside = new Map<string, Named[]>();
  for (const file of files) {
    const path = file.webkitRelativePath;
    const folder = path.split("/")[0] ?? "";
    if (path) inside.set(folder, [...(inside.get(folder) ?? []), { name: path, file }]);
    else taken.files.push({ name: file.name, file });
  }
  for (const [folder, found] of inside) add(taken, folder, found);
  return taken;
}

function add(taken: Taken, folder: string, found: readonly Named[]): void {
  const wanted = found.filter(({ name }) => READ.test(name) && !HIDDEN.test(name.slice(folder.length)));
  taken.files.push(...wanted.sort((a, b) => (a.name < b.name ? -1 : 1)));
  if (!wanted.length) taken.refused.push({ name: folder, why: NOTHING_INSIDE });
}

const NOTHING_INSIDE = "Nothing in this folder can be imported: it has no .json, .jsonl, .txt or .zip file.";
const NO_FOLDERS =
  "This browser does not hand over folders. Choose the files in it, or run `lamina import PATH` on the machine of the service.";

async function within(folder: FileSystemDirectoryEntry, path = folder.name): Promise<Named[]> {
  const reader = folder.createReader();
  const found: Named[] = [];
  for (let some = await next(reader); some.length; some = await next(reader)) {
    for (const entry of some) {
      const name = `${path}/${entry.name}`;
      if (entry.isDirectory) found.push(...(await within(entry as FileSystemDirectoryEntry, name)));
      else found.push({ name, file: await fileOf(entry as FileSystemFileEntry) });
    }
  }
  return found;
}

/** Some entries of a folder; none when all were given. */
const next = (reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> =>
  new Promise((resolve, reject) => reader.readEntries(resolve, reject));
const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

/** Whether something has bytes: a folder, given as a file, has none to read. */
async function isReadable(file: File): Promise<boolean> {
  return file
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    );
}
