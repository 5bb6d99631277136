import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../../api";
import type { ScreenProps } from "../../app";
import { useLoad } from "../../load";
import { mayWrite, NEEDS_WRITE } from "../../parts/may";
import { Empty, Panel } from "../../parts/panel";
import { ProxyAddress } from "../../parts/proxy";
import { More } from "../../parts/tasks";
import { Id, Words } from "../../parts/words";
import { usePlace } from "../../place";
import "../../style/pieces.css";
import "../../style/try.css";
import { useConversation } from "./conversation";
import { Live } from "./live";
import { Log } from "./log";
import { Suggestions } from "./suggest";

const NEWCOMER = "visitor"; // a user of one's own

export default function Try({ about }: ScreenProps) {
  const place = usePlace();
  const chat = useConversation(about, place.user ?? NEWCOMER);
  const [words, setWords] = useState("");
  const writes = mayWrite(about);
  const box = useRef<HTMLTextAreaElement>(null);
  const models = useLoad(
    about.proxy && !about.chat_model
      ? (signal) => get<{ data?: { id: string }[] }>("/openai/v1/models", undefined, signal)
      : null,
    [about.proxy],
  );
  const { talk, restart } = chat;
  useEffect(() => {
    if (place.user !== null && place.user !== talk.user) restart({ user: place.user });
  }, [place.user]);

  const speak = () => {
    const now = words.trim();
    if (!now || chat.busy) return;
    setWords("");
    chat.speak(now, () => setWords((typed) => typed || now));
  };
  return (
    <div class="columns chat">
      <Panel
        title="Chat"
        testId="talk"
        tools={
          <button type="button" onClick={() => restart({})} disabled={chat.busy}>
            New session
          </button>
        }
      >
        {about.proxy ? (
          <p class="how">A model answers, through the proxy of this service. What you say is remembered.</p>
        ) : (
          <NoModel />
        )}
        <form class="row" onSubmit={(event) => event.preventDefault()}>
          <label>
            Talk as
            <input
              value={talk.user}
              maxLength={256}
              disabled={chat.busy}
              onChange={(event) => restart({ user: event.currentTarget.value.trim() || NEWCOMER })}
            />
          </label>
          {about.proxy ? (
            <label>
              Model
              <input
                value={talk.model}
                list="models"
                placeholder="name of a model"
                onInput={(event) => chat.choose(event.currentTarget.value)}
              />
              <datalist id="models">
                {models.value?.data?.map((one) => (
                  <option key={one.id} value={one.id} />
                ))}
              </datalist>
            </label>
          ) : null}
          <span class="session">
            <small>Session</small>
            <Id id={talk.session} />
          </span>
        </form>
        {talk.user === NEWCOMER ? null : (
          <p class="how" data-testid="as-whom">
            What you say is added to the memory of <Words text={talk.user} />.{" "}
            <button type="button" class="link" disabled={chat.busy} onClick={() => restart({ user: NEWCOMER })}>
              Talk as somebody new
            </button>
          </p>
        )}
        <Log chat={chat}>
          <Empty>
            {talk.user === NEWCOMER
              ? "Say something about yourself, then ask. This is a user of its own: nobody else's memory changes."
              : "Ask what is remembered."}
            {writes ? (
              <Suggestions
                user={talk.user}
                take={(one) => {
                  setWords(one);
                  box.current?.focus();
                }}
              />
            ) : null}
          </Empty>
        </Log>
        <form
          class="say"
          onSubmit={(event) => {
            event.preventDefault();
            speak();
          }}
        >
          <label>
            <span class="hidden-label">Your message</span>
            <textarea
              ref={box}
              rows={2}
              dir="auto"
              value={words}
              disabled={!writes}
              placeholder={writes ? "Your message; Enter sends, Shift+Enter is a new line" : NEEDS_WRITE}
              onInput={(event) => setWords(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
                  event.preventDefault();
                  speak();
                }
              }}
            />
          </label>
          {chat.busy ? (
            // another element than the one below, which would send the words again with the same click
            <button key="stop" type="button" onClick={chat.stop}>
              Stop
            </button>
          ) : (
            <button key="say" type="submit" class="first" disabled={!writes || !words.trim()}>
              Say it
            </button>
          )}
        </form>
        <ProxyAddress about={about} />
      </Panel>
      <div class="chat">
        <Live talk={talk} begun={chat.begun} context={chat.context} />
      </div>
    </div>
  );
}

/** That an echo answers, and the line that brings a model. */
function NoModel() {
  return (
    <div class="no-model" data-testid="no-model">
      <p>
        <b>No model is configured, so an echo answers.</b> It is not remembered; what you say is.
      </p>
      <More label="Have a model answer">
        <p>Start the service with the address of an API like OpenAI's:</p>
        <pre>LAMINA_PROXY_BASE_URL=… LAMINA_PROXY_API_KEY=… lamina serve</pre>
      </More>
    </div>
  );
}
