// Tune view: reserved memory under other allocator settings, over the same events.

import { Fragment } from "preact";
import { eventTicks } from "../../draw/axis.ts";
import { lastAtMost } from "../../draw/clock.ts";
import { Chart, type Level, type Line } from "../../paint/chart.tsx";
import { copyText } from "../../shell/clipboard.ts";
import { EventLink } from "../../shell/inspector/event.tsx";
import { Blank, Button, Failure, Loading } from "../../shell/ui.tsx";
import type { Device } from "../../source/api.ts";
import { useAnswer, useApp } from "../../state/hooks.ts";
import type { TuneAnswer, TuneRow } from "../../state/types.ts";
import { formatBytes, formatBytesDelta, formatCount } from "../../units/units.ts";

/** Lines beyond these would lie on each other; the table has them all. */
const mostLines = 6;

const dashes = ["", "7 3", "2 2", "9 3 2 3", "4 2", "1 3"] as const;

export function TuneView() {
  const app = useApp();
  const { value, error } = useAnswer<TuneAnswer>(app.path("tune"));
  const info = app.device.value?.info;
  if (error) return <Failure what="The comparison of settings" error={error} />;
  if (!value || !info) return <Loading what="Replaying the recording under other settings" />;
  if (value.rows.length === 0)
    return (
      <Blank title="There is nothing to replay">{value.cannot ?? "No setting can change anything."}</Blank>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <div class="stack" tabIndex={0}>
      <Chart
        name="tune"
        label="Reserved memory under each setting. The left and right arrows move a cursor."
        lines={linesOf(value)}
        levels={levelsOf(info, value.room_bytes)}
        from={0}
        to={Math.max(1, info.events)}
        ticks={eventTicks}
        xText={(x) => `event ${formatCount(Math.round(x))}`}
      />
      <SettingTable rows={value.rows} />
    </div>
  );
}

function linesOf({ rows, curves, events }: TuneAnswer): Line[] {
  const recorded = rows.find((row) => row.recorded)?.conf;
  const first = curves.filter(({ conf }) => conf === recorded);
  const rest = curves.filter(({ conf }) => conf !== recorded);
  return [...first, ...rest].slice(0, mostLines).map(({ conf, reserved }, index) => {
    const row = rows.find((each) => each.conf === conf);
    const end = until(row?.runs_out ?? null, events);
    return {
      name: row?.label ?? conf,
      color: `--group-${index}`,
      dash: dashes[index] ?? "",
      x: events.slice(0, end),
      y: reserved.slice(0, end),
    };
  });
}

/** A run that is out of memory ends there. */
function until(runsOut: number | null, events: readonly number[]): number {
  return runsOut === null ? events.length : lastAtMost(events, runsOut) + 1;
}

function levelsOf(info: Device, room: number | null): Level[] {
  const capacity = info.capacity_bytes === null ? [] : [{ name: "device", y: info.capacity_bytes }];
  return [...capacity, ...(room === null ? [] : [{ name: `room ${formatBytes(room)}`, y: room }])];
}

function SettingTable({ rows }: { rows: readonly TuneRow[] }) {
  const recorded = rows.find((row) => row.recorded);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="padded settings" tabIndex={0} aria-label="Settings">
      <h2>Settings</h2>
      <table class="list">
        <thead>
          <tr>
            <th scope="col">setting</th>
            <th scope="col" class="number">
              peak reserved
            </th>
            <th scope="col" class="number">
              against the recorded
            </th>
            <th scope="col" class="number">
              smallest limit
            </th>
            <th scope="col">runs out</th>
            <th scope="col">how sure</th>
            <th scope="col">
              <span class="heard">copy</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <SettingRow key={row.conf} row={row} base={recorded?.peak_reserved_bytes ?? null} />
          ))}
        </tbody>
      </table>
      <p class="quiet">
        Each setting is replayed through a simulation of PyTorch's allocator; <code>ullage tune</code>{" "}
        searches for the best.
      </p>
    </section>
  );
}

/** How far the peak depends on what no recording determines. */
function spreadWords({ exact, low_bytes, high_bytes }: TuneRow): string {
  if (exact) return "the same in all replays";
  if (low_bytes === null || high_bytes === null) return "one replay";
  const [low, high] = [formatBytes(low_bytes), formatBytes(high_bytes)];
  return low === high ? `${low}, in other steps` : `${low} to ${high}`;
}

/** Settings that may break behind their commas, which have no spaces. */
function breakable(settings: string) {
  return settings.split(/(?<=,)/).map((setting) => (
    <Fragment key={setting}>
      {setting}
      <wbr />
    </Fragment>
  ));
}

function SettingRow({ row, base }: { row: TuneRow; base: number | null }) {
  const app = useApp();
  const variable = `PYTORCH_CUDA_ALLOC_CONF=${row.conf}`;
  return (
    <tr>
      <td class="setting">
        {breakable(row.label)}
        {row.conf !== "" && !row.label.includes(row.conf) && (
          <div class="mono quiet">{breakable(row.conf)}</div>
        )}
      </td>
      <td class="number">{formatBytes(row.peak_reserved_bytes)}</td>
      <td class="number">
        {base === null || row.recorded ? "–" : formatBytesDelta(row.peak_reserved_bytes - base)}
      </td>
      <td class="number">
        {row.smallest_limit_bytes === null ? "–" : formatBytes(row.smallest_limit_bytes)}
      </td>
      <td>{row.runs_out === null ? <span class="quiet">never</span> : <EventLink event={row.runs_out} />}</td>
      <td class="sure">{spreadWords(row)}</td>
      <td>
        {row.conf !== "" && (
          <Button
            kind="link"
            label={`Copy ${variable}`}
            onClick={() => void copyText(app, variable, "setting")}
          >
            copy
          </Button>
        )}
      </td>
    </tr>
  );
}
