import { useState } from "preact/hooks";
import type { About } from "../shapes";
import { Words } from "./words";
import "../style/proxy.css";

/** The address for programs that speak as OpenAI's clients do, and whose memory is meant where they name nobody. */
export function ProxyAddress({ about }: { about: About }) {
  return (
    <p class="proxy" data-testid="proxy">
      Your programs can talk through this service: give an OpenAI client the <code>base_url</code>{" "}
      <Copied text={`${location.origin}/openai/v1`} />.{" "}
      {about.proxy_default_user === null ? (
        <>
          A request that names nobody is not remembered: name its <code>user</code>.
        </>
      ) : (
        <>
          A request that names nobody goes into the memory of{" "}
          <b>
            <Words text={about.proxy_default_user} />
          </b>
          .
        </>
      )}
    </p>
  );
}

/** Something to copy: one click selects it; a button copies it where the browser lets a page do that. */
function Copied({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  return (
    <span class="copied">
      <code>{text}</code>
      {navigator.clipboard ? (
        <button
          type="button"
          class="link"
          aria-label={`Copy ${text}`}
          onClick={() => navigator.clipboard.writeText(text).then(() => setDone(true))}
        >
          {done ? "copied" : "copy"}
        </button>
      ) : null}
    </span>
  );
}
