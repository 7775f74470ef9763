// One finding.

import { useState } from "preact/hooks";
import { copyText } from "../../shell/clipboard.ts";
import { Frames } from "../../shell/inspector/frames.tsx";
import { inline, Markdown } from "../../shell/markdown.tsx";
import { Button, Failure, Loading } from "../../shell/ui.tsx";
import { useAnswer, useApp } from "../../state/hooks.ts";
import type { Finding, Remedy, RulePage } from "../../state/types.ts";
import type { ViewName } from "../../state/viewer.ts";
import { formatBytes, formatCount } from "../../units/units.ts";
import { evidenceParts } from "./evidence.ts";

const severities: Record<string, { sign: string; tone: string }> = {
  error: { sign: "✕", tone: "bad" },
  warning: { sign: "▲", tone: "warn" },
  info: { sign: "i", tone: "plain" },
};

interface Props {
  finding: Finding;
  open: boolean;
  onToggle: (open: boolean) => void;
}

export function FindingCard({ finding, open, onToggle }: Props) {
  const { sign, tone } = severities[finding.severity] ?? { sign: "·", tone: "plain" };
  return (
    <li class="finding">
      <h3>
        <button type="button" class="finding-head" aria-expanded={open} onClick={() => onToggle(!open)}>
          <span class={`severity tone-${tone}`}>
            <span aria-hidden="true">{sign}</span> {finding.severity}
          </span>
          <span class="finding-title">{finding.title}</span>
          {finding.bytes > 0 && <span class="number">{formatBytes(finding.bytes)}</span>}
        </button>
      </h3>
      {open && <Details finding={finding} />}
    </li>
  );
}

function Details({ finding }: { finding: Finding }) {
  const app = useApp();
  return (
    <div class="finding-body">
      <p class="quiet">
        {finding.rule} · confidence {finding.confidence}
      </p>
      {finding.event !== null && <Places event={finding.event} rule={finding.rule} />}
      <ul>
        {finding.evidence.map((text) => (
          <li key={text}>
            {evidenceParts(text).map(({ text: part, event }) =>
              event === null ? (
                part
              ) : (
                <Button key={part} kind="link" label={`Go to event ${event}`} onClick={() => app.goTo(event)}>
                  {part}
                </Button>
              ),
            )}
          </li>
        ))}
      </ul>
      {finding.remedies.length > 0 && <Remedies remedies={finding.remedies} />}
      {finding.frames.length > 0 && <Frames frames={finding.frames} />}
      <Rule id={finding.rule} />
    </div>
  );
}

const shownIn: readonly (readonly [view: ViewName, words: string])[] = [
  ["timeline", "in the timeline"],
  ["map", "on the map"],
  ["moment", "as a moment"],
  ["flame", "who holds what"],
];

/** Rules about free memory that lies in pieces: the map marks these then. */
const ofPieces = /^frag\/|\/fragmentation$/;

/** Where a finding shows, in the other views. */
function Places({ event, rule }: { event: number; rule: string }) {
  const app = useApp();
  return (
    <div class="buttons">
      <span>Event {formatCount(event)}</span>
      {shownIn.map(([view, words]) => (
        <Button
          key={view}
          onClick={() => {
            app.goTo(event);
            if (ofPieces.test(rule)) app.fragments.value = true;
            app.act(`view-${view}`);
          }}
        >
          {words}
        </Button>
      ))}
    </div>
  );
}

function Remedies({ remedies }: { remedies: readonly Remedy[] }) {
  return (
    <section>
      <h4>What to change</h4>
      <ol>
        {remedies.map((remedy) => (
          <li key={remedy.do}>
            {inline(remedy.do)} <CopySetting text={remedy.do} />
            <div class="quiet">
              {inline(remedy.effect)}
              {remedy.bytes > 0 && ` · gives ${formatBytes(remedy.bytes)}`}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A remedy that names a setting can be copied as it is typed. */
function CopySetting({ text }: { text: string }) {
  const app = useApp();
  const setting = /`((?:export )?PYTORCH_[A-Z_]*CONF=[^`]+|[^`]*=[^`]+)`/.exec(text)?.[1];
  if (!setting) return null;
  return (
    <Button kind="link" label={`Copy ${setting}`} onClick={() => void copyText(app, setting, "setting")}>
      copy
    </Button>
  );
}

function Rule({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="rule" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>About this rule</summary>
      {open && <RuleText id={id} />}
    </details>
  );
}

function RuleText({ id }: { id: string }) {
  const app = useApp();
  const { value, error } = useAnswer<RulePage>(app.path(`rule/${id}`));
  if (error) return <Failure what="The rule's page" error={error} />;
  return value ? <Markdown text={value.text} /> : <Loading what="Reading the rule" />;
}
