// What the page tells by itself: a lost server, a file that has changed, what an exported page lacks, how reading gets on.

import { useEffect } from "preact/hooks";
import type { Recording } from "../source/api.ts";
import { EmbeddedSource } from "../source/embedded.ts";
import type { App, Toast } from "../state/app.ts";
import { placeOf } from "../state/hash.ts";
import { useApp } from "../state/hooks.ts";
import { formatPlural } from "../units/units.ts";
import { Button } from "./ui.tsx";

/** What is said to people who listen to the page. */
export function LiveRegion() {
  const app = useApp();
  return (
    <div class="heard" role="status" aria-live="polite">
      {app.spoken.value}
    </div>
  );
}

export function Toasts() {
  const app = useApp();
  return (
    <div class="toasts" role="log" aria-label="Messages">
      {app.toasts.value.map((toast) => (
        <ToastLine key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

/** What went well needs no closing; what went wrong stays. */
const shownMilliseconds = 6000;

function ToastLine({ toast: { id, kind, text } }: { toast: Toast }) {
  const app = useApp();
  useEffect(() => {
    if (kind === "error") return undefined;
    const timer = setTimeout(() => app.dismiss(id), shownMilliseconds);
    return () => clearTimeout(timer);
  }, [app, id, kind]);
  return (
    <div class={`toast ${kind}`}>
      <span>{text}</span>
      <Button kind="link" label="Close the message" onClick={() => app.dismiss(id)}>
        ×
      </Button>
    </div>
  );
}

export function Banners() {
  return (
    <>
      <LostBanner />
      <ChangedBanner />
      <AstrayBanner />
      <ExportBanner />
      <ReadingBanner />
    </>
  );
}

function LostBanner() {
  if (!useApp().lost.value) return null;
  return (
    <div class="banner bad" role="alert">
      <strong>The server does not answer.</strong> What was loaded stays usable; for the rest run{" "}
      <code>ullage view</code> again. The page goes on by itself when the same address answers.
    </div>
  );
}

function ChangedBanner() {
  const app = useApp();
  const changed = app.session.value?.recordings.filter((recording) => recording.changed) ?? [];
  if (changed.length === 0) return null;
  return (
    <div class="banner warn" role="status">
      <span>
        <strong>
          {changed.length === 1 ? changed[0]?.file : formatPlural(changed.length, "file", "files")}
        </strong>{" "}
        changed on disk since {changed.length === 1 ? "it was" : "they were"} read.
      </span>
      <Button onClick={() => reload(app)}>Reload the page</Button>
    </div>
  );
}

/** Shows what is there now in the same view: the server reads anew what has changed when the page is opened. */
function reload(app: App) {
  const choice = app.choice.value;
  const device = choice ? `&d=${placeOf(choice.recording.index)}.${choice.ref.dev}` : "";
  location.hash = `u=1&v=${app.view.value}${device}`;
  location.reload();
}

function AstrayBanner() {
  if (!useApp().astray) return null;
  return (
    <div class="banner warn" role="status">
      The link leads to a recording that is not open here. Another one is shown; choose a device to stay with
      it.
    </div>
  );
}

function ExportBanner() {
  const { source } = useApp();
  if (!(source instanceof EmbeddedSource)) return null;
  return (
    <details class="banner plain">
      <summary>
        This page was made by <code>ullage view --export</code> and holds a part of the recording
        {source.index.redacted && ", without paths"}.
      </summary>
      <LeftOut lines={source.index.left_out} />
    </details>
  );
}

function LeftOut({ lines }: { lines: readonly string[] }) {
  if (lines.length === 0) return <p>Nothing was left out for its size.</p>;
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

/** While some ranks are still being read, those that are ready can be used. */
function ReadingBanner() {
  const recordings = useApp().session.value?.recordings ?? [];
  const reading = recordings.filter(({ state }) => state !== "ready" && state !== "failed");
  const failed = recordings.filter(({ state }) => state === "failed");
  const ready = recordings.length - reading.length - failed.length;
  if (ready === 0) return null;
  return (
    <>
      {reading.length > 0 && (
        <div class="banner plain">
          <span>
            {ready} of {recordings.length} ready
          </span>
          <progress
            aria-label="Reading recordings"
            max={recordings.length}
            value={ready + reading.reduce((sum, each) => sum + each.progress / 2, 0)}
          />
        </div>
      )}
      {failed.map((recording) => (
        <FailedBanner key={recording.index} recording={recording} />
      ))}
    </>
  );
}

function FailedBanner({ recording }: { recording: Recording }) {
  return (
    <div class="banner bad" role="alert">
      <span>
        <strong>{recording.file}</strong> could not be read: {recording.error}
      </span>
    </div>
  );
}

/** The page while nothing is ready yet: each file, and how far it is. */
export function Opening() {
  const app = useApp();
  const session = app.session.value;
  if (app.deviceError.value)
    return (
      <main class="opening">
        <h2>The recording could not be shown</h2>
        <p>{app.deviceError.value.message}</p>
      </main>
    );
  return (
    <main class="opening" aria-busy="true">
      <h2>{session ? "Reading" : "Connecting"}</h2>
      <ul class="bare">
        {session?.recordings.map((recording) => (
          <OpeningRow key={recording.index} recording={recording} />
        ))}
      </ul>
    </main>
  );
}

const stateWords: Record<Recording["state"], string> = {
  waiting: "waits",
  reading: "is read",
  replaying: "is replayed",
  ready: "is ready",
  failed: "could not be read",
};

function OpeningRow({ recording }: { recording: Recording }) {
  const { file, state, progress, error } = recording;
  return (
    <li class="opening-row">
      <span>{file}</span>
      <span class="quiet">{stateWords[state]}</span>
      {(state === "reading" || state === "replaying") && (
        <progress aria-label={`${file} ${stateWords[state]}`} max={1} value={progress} />
      )}
      {error && <p class="bad-text">{error}</p>}
    </li>
  );
}
