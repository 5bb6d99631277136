import { useEffect, useState } from "preact/hooks";
import type { About } from "../../shapes";
import { chosen, dropped } from "./dropped";
import type { Imports } from "./importing";
import { Sheets } from "./pictures";
import { size } from "./size";

/** The door through which a history comes: files are dropped anywhere on the page, or chosen. */
export function Import({ about, imports }: { about: About; imports: Imports }) {
  const over = useDrop(imports.take);
  return (
    <section class="door" data-testid="door-import" aria-label="Import your history">
      <div class={over ? "drop over" : "drop"} data-testid="drop">
        <Sheets />
        <p>
          Drop files or folders here
          <small>up to {size(about.max_body_bytes)} each</small>
        </p>
      </div>
      <h3>Bring your history</h3>
      <p>
        The export of ChatGPT or Claude, as you downloaded it; chats of other tools; what Lamina exports. Nothing leaves
        this service.
      </p>
      <div class="foot">
        <Chosen label="Choose files" name="Files to import" take={imports.take} />
        <Chosen label="Choose a folder" name="A folder to import" take={imports.take} folder />
      </div>
    </section>
  );
}

/** A button that opens the browser's window of files; several at once, or a folder. */
function Chosen({
  label,
  name,
  take,
  folder = false,
}: {
  label: string;
  name: string;
  take: Imports["take"];
  folder?: boolean;
}) {
  return (
    <label class="button choose">
      {label}
      <input
        type="file"
        multiple={!folder}
        ref={(input) => {
          if (input && folder) input.webkitdirectory = true;
        }}
        class="hidden-label"
        aria-label={name}
        onChange={(event) => {
          take(chosen(event.currentTarget.files ?? []));
          event.currentTarget.value = "";
        }}
      />
    </label>
  );
}

/** Whether something is held over the page. What is dropped beside the door is taken, too: else the browser leaves. */
function useDrop(take: Imports["take"]): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const hold = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      dropped(event.dataTransfer).then(take);
    };
    addEventListener("dragover", hold, { signal });
    addEventListener("dragleave", leave, { signal });
    addEventListener("drop", drop, { signal });
    return () => stop.abort();
  });
  return over;
}
