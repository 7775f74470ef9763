// Findings view: the verdict, then what was found, each with its evidence, its remedies and its rule's page.

import { Failure, Loading } from "../../shell/ui.tsx";
import { verdictWords } from "../../shell/words.ts";
import type { Verdict } from "../../source/api.ts";
import { useAnswer, useApp } from "../../state/hooks.ts";
import type { Coverage, Explain, Finding, RanksSummary } from "../../state/types.ts";
import { formatPlural } from "../../units/units.ts";
import { FindingCard } from "./finding.tsx";

export function FindingsView() {
  const app = useApp();
  const { value, error } = useAnswer<Explain>(app.path("explain"));
  if (error) return <Failure what="The findings" error={error} />;
  if (!value) return <Loading what="Explaining" />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <div class="findings" tabIndex={0}>
      <VerdictHead verdict={value.verdict} />
      <FindingList findings={value.findings} first={0} />
      <Ranks first={value.findings.length} />
      <Limits coverage={value.coverage} warnings={value.warnings} />
    </div>
  );
}

function VerdictHead({ verdict }: { verdict: Verdict }) {
  const { sign, tone, words } = verdictWords(verdict.kind);
  return (
    <section class={`verdict tone-${tone}`}>
      <h2>
        <span aria-hidden="true">{sign}</span> {words}
      </h2>
      <p>{verdict.text}</p>
    </section>
  );
}

/** first is the number of the first finding among all of the view. */
function FindingList({ findings, first }: { findings: readonly Finding[]; first: number }) {
  const app = useApp();
  if (findings.length === 0) return <p class="quiet">No rule of the catalogue applies.</p>;
  return (
    <ol class="finding-list">
      {findings.map((finding, index) => (
        <FindingCard
          // A rule can apply twice
          key={index}
          finding={finding}
          open={app.finding.value === first + index || (app.finding.value === null && first + index === 0)}
          onToggle={(open) => {
            app.finding.value = open ? first + index : -1;
          }}
        />
      ))}
    </ol>
  );
}

/** What sets the ranks of a job apart. */
function Ranks({ first }: { first: number }) {
  const session = useApp().session.value;
  const ranks = session?.ranks as RanksSummary | null | undefined;
  if (!ranks || (session?.recordings.length ?? 0) < 2) return null;
  return (
    <section>
      <h2>All ranks</h2>
      <p>{ranks.verdict.text}</p>
      <FindingList findings={ranks.findings} first={first} />
    </section>
  );
}

const begins: Record<string, string> = {
  complete: "The recording begins with the program.",
  "mid-run": "The recording begins in the midst of the run; what was allocated before has no history.",
  "ring-cut": "The recorder was full and has overwritten the oldest events.",
  "ring-likely": "The recorder was probably full and has overwritten the oldest events.",
  "no-events": "The recording has no events, only what was allocated at its end.",
};

/** What the recording cannot show: it belongs beside every conclusion. */
function Limits({ coverage, warnings }: { coverage: Coverage; warnings: readonly string[] }) {
  const share = coverage.allocs > 0 && coverage.allocs_with_stack < coverage.allocs;
  return (
    <section class="limits">
      <h2>What the recording shows, and what not</h2>
      <ul>
        <li>{begins[coverage.begins] ?? coverage.begins}</li>
        {share && (
          <li>
            {formatPlural(coverage.allocs_with_stack, "allocation", "allocations")} of{" "}
            {formatPlural(coverage.allocs, "carries", "carry")} a stack.
          </li>
        )}
        {[...coverage.inconsistent, ...warnings].map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {coverage.not_shown.length > 0 && <p>No recording shows: {coverage.not_shown.join("; ")}.</p>}
    </section>
  );
}
